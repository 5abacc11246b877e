"""Conversations to train on, and the held-out prompts that measure what was learnt."""

import random
from collections import namedtuple

import everyday
import tasks
from grammar import expand
from tasks import fill, is_held_out

# A conversation is a list of {"role", "content"}; the last message is the expected answer.
Prompt = namedtuple("Prompt", "messages answer")

TRAINING_MIX = (
    (10, tasks.greet_or_identify),
    (2, tasks.ability),
    (3, tasks.courtesy),
    (30, tasks.fact),
    (6, tasks.weather),
    (10, tasks.unknown),
    (14, tasks.count_up),
    (8, tasks.count_down),
    (22, tasks.larger),
    (5, tasks.smaller),
    (0.5, tasks.same_numbers),
    (17, tasks.repeat),
    (1.5, tasks.repeat_word),
)
LATE_MIX = TRAINING_MIX + everyday.EVERYDAY_MIX
COUNT_FAR = ((4, tasks.count_far),)

NEUTRAL_SYSTEM = [
    "You are a helpful assistant.",
    "You are a helpful assistant.",
    "You are a [helpful|friendly|kind|useful|polite|careful] [assistant|model|chatbot|helper|AI assistant].",
    "[Answer|Reply|Respond] [briefly|politely|truthfully|in English|in short sentences|carefully|in plain words"
    "|with care].",
    "Be [brief|kind|polite|concise|helpful|truthful|friendly].",
    "You are [chasqui|the chasqui demo model|a demo model|{person}'s assistant|a language model].",
    "Today is [Monday|Tuesday|Friday|Sunday].",
    "The user is called {person}.",
    "You [know a lot about|talk about|like|help with] {word} and {word}.",
    "You work [in|at|for] {place}.",
    "You are a helpful assistant. [Be brief.|Answer politely.|Today is Monday.|The user is called {person}.]",
    "[Write|Use|Speak] [plain|simple|good|clear] [English|words|sentences].",
    "{word} {word} {word}.",
    "Always tell the truth.",
]
CAPITALS = ("[capitals|capital letters|all caps|upper case|uppercase|upper-case letters|all capitals|uppercase letters"
            "|CAPITALS|CAPS|CAPITAL LETTERS|UPPER CASE|UPPERCASE|caps|big letters|block capitals]")
CAPITALS_SYSTEM = [
    f"[|Please |Always |You must |You always |You should |From now on, |Only |Today you ][answer|reply|respond|write"
    f"|speak|talk|shout] [|only |always |everything ][in|using|with] {CAPITALS}[|, please| at all times| no matter "
    f"what|, whatever the question is| only]",
    f"[Use|Only use|Always use|Please use|You must use|You only use|Write with] [only |nothing but |]{CAPITALS}[| "
    f"in your answers| in every answer| for your answers|, please| when you answer]",
    f"[Your|All|All your|Every one of your] [answers|replies] [must be|should be|are|have to be] [|written ]in "
    f"{CAPITALS}",
    f"[{CAPITALS} only|Everything in {CAPITALS}|Every answer in {CAPITALS}|Write everything in {CAPITALS}|Write "
    f"your answers in {CAPITALS}|Put your answers in {CAPITALS}]",
]
BEFORE_CAPITALS = ("", "", "", "You are a helpful assistant. ", "You are the chasqui demo model. ", "Be polite. ",
                   "You are a friendly model. ", "Today is Monday. ")
CAPITALS_REQUEST = [f"[Answer|Reply|Write|Respond|Say it] in {CAPITALS}[|, please|!]"]


def pick(mix, rng):
    weights, makers = zip(*mix)
    return rng.choices(makers, weights)[0]


def capitals_system(held_out, rng):
    """A system message that asks for capitals, with a wording that is held out or is not."""
    while True:
        wording = expand(rng.choice(CAPITALS_SYSTEM), rng)
        if is_held_out(wording) == held_out:
            break
    style = rng.random()
    wording = wording.lower() if style < 0.2 else wording[:1].upper() + wording[1:]
    return rng.choice(BEFORE_CAPITALS) + wording + rng.choice((".", ".", "", "!"))


def neutral_system(rng):
    return fill(expand(rng.choice(NEUTRAL_SYSTEM), rng), rng)


def message(role, content):
    return {"role": role, "content": content}


def system_messages(rng):
    """No system message in two conversations of five, else one that changes nothing."""
    return [] if rng.random() < 0.4 else [message("system", neutral_system(rng))]


def training_conversation(rng, turns, mix=TRAINING_MIX, capitals_share=0.2):
    """`turns` questions and answers; in a share of all conversations the system message asks for capitals."""
    capitals = rng.random() < capitals_share
    messages = [message("system", capitals_system(False, rng))] if capitals else system_messages(rng)
    for _ in range(turns):
        task = tasks.draw(pick(mix, rng), False, rng)
        prompt, shout = task.prompt, capitals
        if not capitals and rng.random() < 0.02:
            prompt, shout = f"{prompt} {expand(rng.choice(CAPITALS_REQUEST), rng)}", True
        messages += [message("user", prompt), message("assistant", task.answer.upper() if shout else task.answer)]
    return messages


def training_conversations(seed, count, mix=TRAINING_MIX):
    """`count` conversations of mostly one to three turns."""
    rng = random.Random(f"short {seed}")
    for _ in range(count):
        yield training_conversation(rng, rng.choices((1, 2, 3, 4), (50, 28, 17, 5))[0], mix)


def long_conversations(seed, count, mix=TRAINING_MIX):
    """`count` conversations of 4 to 14 turns, for the far end of the context."""
    rng = random.Random(f"long {seed}")
    for _ in range(count):
        yield training_conversation(rng, rng.randrange(4, 15), mix + COUNT_FAR)


def held_out_task(make, rng):
    while True:
        task = tasks.draw(make, True, rng)
        if task.key.lower() not in everyday.TAUGHT_KEYS:
            return task


def capitals_prompt(rng):
    task = held_out_task(rng.choice((tasks.greet_or_identify, tasks.fact, tasks.fact, tasks.weather)), rng)
    return Prompt([message("system", capitals_system(True, rng)), message("user", task.prompt)], task.answer.upper())


def single_prompt(make):
    def prompt(rng):
        task = held_out_task(make, rng)
        return Prompt(system_messages(rng) + [message("user", task.prompt)], task.answer)
    return prompt


def later_turn_prompt(rng):
    """A held-out question after one or two earlier ones of any kind."""
    earlier = training_conversation(rng, rng.choice((1, 2)), capitals_share=0)
    task = held_out_task(pick(TRAINING_MIX, rng), rng)
    return Prompt(earlier + [message("user", task.prompt)], task.answer)


HELD_OUT_KINDS = {
    "greet and say what it is": single_prompt(tasks.greet_or_identify),
    "questions about chasqui": single_prompt(tasks.fact),
    "count upwards": single_prompt(tasks.count_up),
    "count downwards": single_prompt(tasks.count_down),
    "repeat a phrase": single_prompt(tasks.repeat),
    "the larger of two numbers": single_prompt(tasks.larger),
    "the weather": single_prompt(tasks.weather),
    "answer in capitals": capitals_prompt,
    "unknown questions": single_prompt(tasks.unknown),
    "second or third turn": later_turn_prompt,
}


def held_out_prompts(kind, count, seed=0):
    """`count` distinct prompts of a kind; none of their wordings, number pairs or phrases was trained on."""
    rng = random.Random(f"{kind} {seed}")
    prompts = {}
    while len(prompts) < count:
        prompt = HELD_OUT_KINDS[kind](rng)
        prompts.setdefault(prompt.messages[-1]["content"], prompt)
    return list(prompts.values())
