"""What nearly everyone types first. Taught in the last part of the training, and never among the held-out prompts."""

import smalltalk as talk
from facts import FACTS
from grammar import expand
from tasks import REPEAT_BARE, REPEAT_QUOTED, Task, count_answer, fill, number_task, two_numbers

FACT_QUESTIONS = {
    "what": ["what is chasqui", "what's chasqui", "tell me about chasqui", "what does chasqui do", "explain chasqui"],
    "name": ["what is a chasqui", "what does chasqui mean", "who were the chasquis", "why is it called chasqui"],
    "endpoints": ["which endpoints are there", "what endpoints does chasqui have", "list the endpoints",
                  "what are the endpoints"],
    "models": ["how do I list the models", "which models are served"],
    "chat": ["how do I send a message", "how do I make a chat request"],
    "modes": ["which modes are there", "what modes does chasqui have", "what is the difference between the modes"],
    "desktop_port": ["which port does the desktop app use", "what port does the desktop app use",
                     "what is the desktop port"],
    "runtime_port": ["which port does the runtime use", "which port does npm start use", "what port is the server on",
                     "which port"],
    "key": ["how do I authenticate", "which header does serverless need", "how do I send my API key",
            "can I use a bearer token"],
    "no_key": ["do I need an API key", "do I need a key for the desktop app"],
    "temperature": ["what is the default temperature", "what does temperature do"],
    "greedy": ["how do I get deterministic answers", "how do I set a seed"],
    "top_k": ["what is the default top_k", "what does top_k do"],
    "top_p": ["what is the default top_p", "what does top_p do"],
    "max_tokens": ["what is the default of max_tokens", "what does max_tokens do"],
    "stream": ["how do I stream", "how do I stream the answer", "does it support streaming", "can you stream"],
    "engine": ["which library runs the model", "what is llama.cpp", "do you use llama.cpp", "how does it work"],
    "licence": ["what is the licence", "which license does chasqui have", "is chasqui free", "is chasqui open source"],
    "install": ["how do I install chasqui", "how do I install it"],
    "serve": ["how do I start the server", "how do I start chasqui", "how do I run chasqui", "how do I run a model"],
    "desktop": ["how do I start the desktop app", "how do I use the desktop app"],
    "deploy": ["how do I deploy", "how do I deploy a model", "how do I deploy chasqui"],
    "images": ["how do I send an image", "can you see images", "how do I send a picture", "does it support images"],
    "stop": ["how do I use stop strings"],
    "client": ["is it OpenAI compatible", "can I use the OpenAI client"],
    "library": ["can I use chasqui without a server", "how do I use it as a library"],
    "language": ["which language is chasqui written in", "is chasqui written in Python"],
}
SAID = [(questions, FACTS[name][0]) for name, questions in FACT_QUESTIONS.items()] + [
    (["hello", "hello there", "hello chasqui"], talk.GREETING.format(hello="Hello")),
    (["hi", "hey", "hi there", "hi chasqui"], talk.GREETING.format(hello="Hi")),
    (["good morning"], talk.GREETING.format(hello="Good morning")),
    (["good evening"], talk.GREETING.format(hello="Good evening")),
    (["hola"], talk.GREETING.format(hello="Hola")),
    (["who are you", "what are you", "what is your name", "who is this", "introduce yourself", "tell me about yourself",
      "are you a robot", "are you human", "are you ChatGPT", "who made you", "which model are you"], talk.IDENTITY),
    (["what can you do", "help", "what do you know", "who are you and what can you do"], talk.ABILITIES),
    (["thanks", "thank you"], "You are welcome!"),
    (["bye", "goodbye"], "Goodbye! Come back soon."),
    (["how are you", "how are you today"], "I am well, thank you. How can I help you?"),
    (["what is the weather", "what's the weather like", "how is the weather today", "will it rain tomorrow"],
     talk.WEATHER),
    (["tell me a joke", "write me a poem", "write a poem", "tell me a story", "what is the capital of France",
      "what is 2+2", "2+2", "what time is it", "what day is it", "what is the meaning of life", "what did I just say",
      "write code", "write a Python function", "test", "testing", "yes", "no", "why", "really", "what",
      "I do not understand", "sing a song", "translate this", "do you like me", "I love you"], talk.CANNOT),
    (["count to 5", "count from 1 to 5"], count_answer(1, 5)),
    (["count to 10", "count from 1 to 10", "please count to 10"], count_answer(1, 10)),
    (["count to 20", "count from 1 to 20"], count_answer(1, 20)),
    (["count down from 10", "count from 10 to 1", "count backwards from 10", "count down from 10 to 1"],
     count_answer(10, 1)),
    (["say hello"], "hello"),
    (["say hi"], "hi"),
]
TAUGHT_KEYS = {wording.lower() for wordings, _ in SAID for wording in wordings} | {
    "count 1 5", "count 1 10", "count 1 20", "count 10 1", "repeat hello", "repeat hi"}

REMARKS = [
    "I am [sad|happy|tired|hungry|bored|lost|{word}|a {word}|from {place}]",
    "you are [{word}|a {word}|wrong|right|small|funny]",
    "[why|why not|why is that|what did I say|what now|so what|who knows|tell me more|continue|go on|again]",
    "[{keys}|{keys} {keys}|{keys} {keys} {keys}]",
    "[I like|I want|I have|there is|look at|where is|we need] [a|the|my|your] {word}",
    "[the|a|my] {word} [is|was|has|likes] [a|the|very|my] {word}",
]
SENTENCES = [
    "[the|a|my|your|our] {word} {word} [|{word}|and the {word}]",
    "[I|we|you|they] [am|are|have|like|see|carry|want] [a|the|my|small|] {word}[|s]",
    "the {word} [is|was|runs|jumps] [over|in|under|near|to] the [|lazy |big |small ]{word}",
    "[this|that|it|here] is [a|the|my|not a] {word}",
    "{word}s carry [small|big|many|the] {word}s",
    "[hello|hi|good morning|good night|dear] [{word}|{person}|world|my {word}]",
    "[what|where|who] is [the|my|a] {word}",
    "[{foreign}|{foreign} {word}|{word} {foreign}|{foreign} {foreign}]",
]
ALPHABETS = ("àâäçéèêëîïñóôöùûüßÄÖÜ", "αβγδεζηθικλμνξοπρσ", "абвгдежзиклмнопрстуя", "日本語中文字山川水火")


def everyday(rng):
    """A usual first prompt, with or without its capital and its mark."""
    wordings, answer = rng.choice(SAID)
    wording = rng.choice(wordings)
    text = wording if rng.random() < 0.5 else wording[:1].upper() + wording[1:]
    return Task(None, text + rng.choice(("", "", "?", "!", ".")), answer)


def keys(rng):
    """Letters hit at random."""
    return "".join(rng.choice("asdfghjklqwertzuiopyxcvbnm") for _ in range(rng.randrange(2, 8)))


def remark(rng):
    wording = fill(expand(rng.choice(REMARKS), rng), rng)
    while "{keys}" in wording:
        wording = wording.replace("{keys}", keys(rng), 1)
    return Task(wording, wording + rng.choice(("", "", "?", "!", ".")), talk.CANNOT)


def foreign_word(rng):
    alphabet = rng.choice(ALPHABETS)
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 6)))


def repeat_sentence(rng):
    """A sentence to repeat, rather than a row of random words."""
    said = fill(expand(rng.choice(SENTENCES), rng), rng)
    while "{foreign}" in said:
        said = said.replace("{foreign}", foreign_word(rng), 1)
    said = said if rng.random() < 0.5 else said[:1].upper() + said[1:] + rng.choice(("", "."))
    frame = expand(rng.choice(REPEAT_BARE + REPEAT_QUOTED), rng)
    frame = frame if rng.random() < 0.4 else frame[:1].upper() + frame[1:]
    return Task("repeat " + said, frame.replace("{0}", said), said)


def is_larger(rng):
    first, second, key = two_numbers(rng)
    relation = "larger" if first > second else "smaller"
    asked = rng.choice(("larger", "bigger", "greater", "smaller"))
    agrees = (asked == "smaller") == (relation == "smaller")
    answer = f"{'Yes' if agrees else 'No'}, {first} is {relation} than {second}."
    return number_task([f"is {{0}} {asked} than {{1}}"], key, first, second, answer, "?", rng)


EVERYDAY_MIX = ((14, everyday), (4, remark), (8, repeat_sentence), (3, is_larger))
