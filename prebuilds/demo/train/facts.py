"""What the model knows about chasqui: for each fact the answer and patterns of questions (see grammar.expand)."""

DESKTOP = "[desktop|desktop app|desktop app's|desktop mode|desktop mode's|local desktop]"
RUNTIME = "[runtime|runtime server|runtime mode|command-line server|command line runtime]"
SERVERLESS = "[serverless|cloud|deployed|serverless cloud]"
CHASQUI = "[chasqui|chasqui|chasqui|the chasqui server|this server|this service|chasqui here]"

FACTS = {
    "what": (
        "chasqui is an OpenAI-compatible chat-completion service in an npm package. It runs language models with "
        "llama.cpp.",
        [
            "what is [chasqui|this chasqui|chasqui exactly|chasqui all about|chasqui for|chasqui good for|the "
            "chasqui package]",
            "[tell me|explain|describe] [about|something about|more about|a bit about] chasqui",
            "[what does|what can] [chasqui|the chasqui package|this package] do",
            "[explain|describe|introduce|summarize] [chasqui|the chasqui project|the chasqui package] [|briefly|in "
            "one sentence|to me]",
            "what [kind|sort] of [software|program|package|tool|thing|project] is chasqui",
        ],
    ),
    "name": (
        "Chasquis were the relay runners of the Inca: a message was handed from post to post until it arrived.",
        [
            "[what|who] [is|was] a chasqui",
            "[who|what] [were|are] [the |]chasquis",
            "where does the [name|word] [chasqui|of chasqui] come from",
            "what does [the name|the word|the name of|] chasqui mean",
            "why is [it|the package|the service|this|the project] [called|named] chasqui",
            "[what is|explain|tell me] the [meaning|origin|story] of the [name|word] [|chasqui]",
            "[what did|how did] [a chasqui|the chasquis|chasquis] [do|work|live] [|for the Inca|in the Inca empire]",
        ],
    ),
    "endpoints": (
        "There are two endpoints: GET /v1/models lists the models, and POST /v1/chat/completions answers a "
        "conversation.",
        [
            f"[what|which] [endpoints|routes|paths|URLs] does {CHASQUI} [have|offer|provide|serve|support|expose]",
            "[list|name|show me|tell me|give me] [the|all|all the|your] [endpoints|routes|API paths|API endpoints]",
            f"[what are|which are] the [endpoints|routes|API paths] [|of {CHASQUI}|of the API]",
            "[how many|what] [endpoints|routes] [are there|exist|do you have|are available]",
            "what does the API [look like|offer|consist of]",
        ],
    ),
    "models": (
        "Send GET /v1/models: the reply lists the models that are served.",
        [
            "how [do|can] I [list|see|get|find out|query] [the|all|all the] [|available|served|loaded] models",
            "[which|what] [endpoint|route|path|request] [lists|returns|shows|gives] [the|all] [|available|served] "
            "models",
            "[where|how] [do I|can I] [see|find|get] [the list of models|the model list|a list of models|which "
            "models are served]",
            "how do I [get|fetch|request] the [model list|list of models|list of the served models]",
        ],
    ),
    "chat": (
        "Send POST /v1/chat/completions with a model and messages: the text is in choices[0].message.content.",
        [
            "how [do|can] I [send|post|make] a [chat request|chat completion request|message|conversation|prompt"
            "|chat completion]",
            "[which|what] [endpoint|route|path] [is for|answers|takes|handles] [chat|chats|a chat|conversations"
            "|chat completions|messages]",
            "where [do|should] I [send|post] [the|my] [messages|conversation|prompt|chat]",
            "where is the [text|answer|reply|generated text] in the [response|reply|result|JSON]",
        ],
    ),
    "modes": (
        "chasqui has three modes: runtime, desktop and serverless. Choose one with chasqui serve --mode.",
        [
            f"[what|which] [|hosting |server ]modes does {CHASQUI} [have|offer|support|know|provide]",
            f"[how many|what|which] [hosting modes|modes|ways of hosting] [are there|exist|does {CHASQUI} have]",
            "[list|name|describe|tell me|explain] [the|all|the three|your|all the] [modes|hosting modes|server modes]",
            f"[in which ways|in what ways|in which modes|how] can [I|one|we] host [{CHASQUI}|a model with chasqui|it]",
        ],
    ),
    "desktop_port": (
        "The desktop mode listens on port 1234: http://localhost:1234.",
        [
            f"[what|which] port does the {DESKTOP} [server|] [use|listen on|run on|open|have|take]",
            f"[what is|what's|tell me|give me] the [|default ]port of the {DESKTOP} [|server]",
            f"[what is|what's|tell me] the [base address|address|URL|base URL] of the {DESKTOP} [|server]",
            f"on [what|which] port [does|is] the {DESKTOP} [|server] [listen|listening|run|running]",
            f"{DESKTOP} [default port|port|port number]",
            f"where does the {DESKTOP} [|server] [listen|run]",
        ],
    ),
    "runtime_port": (
        "The port of the runtime server is chosen with --port; npm start uses 8080.",
        [
            f"[what|which] port does the {RUNTIME} [use|listen on|run on|open|have|take]",
            f"[what is|what's|tell me|give me] the [|default ]port of the {RUNTIME}",
            "[what|which] port does [npm start|the npm start command] [use|listen on|run on|open|take]",
            f"on [what|which] port [does|is] the {RUNTIME} [listen|listening|run|running]",
            f"[how do|how can|where do] I [choose|set|change|pick] the port [|of the {RUNTIME}|of the server|when I "
            f"serve a model]",
            f"[what is|what's|tell me] the [base address|address|URL|base URL] of the {RUNTIME}",
        ],
    ),
    "key": (
        "A private serverless deployment wants the header Authorization: Key <API_KEY>. Bearer is not accepted.",
        [
            f"[what|which] [|auth |authentication |authorization ]header [do I send to|does|is needed for|is "
            f"required by] [a|the] "
            f"{SERVERLESS} [deployment|mode|app|one]",
            "how do I [authenticate|log in|send my API key|send the API key|pass the API key|pass my key|use my API "
            "key]",
            f"how does [authentication|authorization|auth] work [|in|with] [a|the|] {SERVERLESS} [mode|deployment|app]",
            "[can I use|does it accept|do you accept|is it OK to send] [a|the|] bearer [token|header|key|scheme] ["
            "|in serverless mode]",
            "where [do|does|should] [I put the API key|the API key go|I send the key|I put my key]",
        ],
    ),
    "no_key": (
        "The desktop and runtime modes need no key: clients that insist on one may send any string.",
        [
            f"do I need [a key|an API key|authentication|a password|to log in] [for|with|in] the [{DESKTOP}"
            f"|{RUNTIME}|local server]",
            f"does the [{DESKTOP}|{RUNTIME}|local server] [need|require|want|check] [a key|an API key|authentication"
            f"|a password]",
            "[which|what] [key|API key] do I [send|use|need] [to|for|with] [a|the] local [server|servers|mode|modes]",
            "is there authentication [in|for|with] the local [server|servers|mode|modes]",
            "do the local [servers|modes] [need|require|want|check] [a key|an API key|authentication]",
        ],
    ),
    "make_key": (
        "Run chasqui keys create --org NAME: it shows the new key once.",
        [
            "how [do|can] I [make|create|get|generate|add] [a key|an API key|a new key|keys|API keys|a new API key]",
            "[which|what] command [makes|creates|generates] [a key|an API key|keys|API keys|a new key]",
            "[what is|tell me|explain|what does] [chasqui keys|the keys command|chasqui keys create] [|do]",
        ],
    ),
    "tools": (
        "Send tools with the request: the calls of the model come back as tool_calls.",
        [
            "[can|does|do] [chasqui|it|you|the server] [call|use|support|know|have] [tools|functions|tool calls"
            "|function calling|tool calling]",
            "how [do|can] I [use|send|offer|declare|pass|add] [tools|functions|a tool|a function]",
            "how [does|do] [tool calling|function calling|tools|tool calls|function calls] work",
        ],
    ),
    "temperature": (
        "The default temperature is 1.0 in every mode. Higher is more random, and 0 is greedy.",
        [
            f"[what is|what's|tell me|give me] the default [temperature|of temperature|for temperature|value of "
            f"temperature|temperature of {CHASQUI}]",
            f"[what|which] temperature does {CHASQUI} use [|by default|if I send none|as default]",
            "[what does|explain|tell me about] [the temperature|temperature] [|do|mean|parameter|setting]",
            "[what is|what's] the temperature [if I do not set it|when it is not set|by default|parameter]",
            f"what is the default temperature [in|of|for] [the|] [{DESKTOP}|{RUNTIME}|{SERVERLESS}] [|mode]",
        ],
    ),
    "greedy": (
        "Send a temperature of 0: then the most likely token is always taken. A seed makes sampling repeatable too.",
        [
            "how do I [get|make|have] [deterministic|repeatable|reproducible|the same|greedy] [answers|results"
            "|output|replies]",
            "how [can|do] I [turn off|switch off|avoid|disable] [randomness|sampling|random answers]",
            "how do I [always get|get always] the same [answer|reply|result]",
            "how do I [use|get|do] greedy [decoding|sampling|search]",
            "[is there|can I set|how do I set|do you support] a [|random ]seed",
        ],
    ),
    "top_k": (
        "The default top_k is 40 in desktop mode and 50 in the runtime and serverless modes.",
        [
            "[what is|what's|tell me|give me] the default [top_k|top k|top-k|of top_k|for top_k|value of top_k"
            "|value of top k]",
            f"[what|which] [top_k|top k|top-k] does {CHASQUI} use [|by default|if I send none]",
            f"[what is|what's|tell me] the [|default ][top_k|top k|top-k] [in|of|for] [the|] [{DESKTOP}|{RUNTIME}"
            f"|{SERVERLESS}] [|mode]",
            "[what does|explain|tell me about] [top_k|top k|top-k] [|do|mean]",
        ],
    ),
    "top_p": (
        "The default top_p is 1.0. A lower value keeps only the most likely tokens up to that probability.",
        [
            "[what is|what's|tell me|give me] the default [top_p|top p|top-p|of top_p|for top_p|value of top_p"
            "|value of top p]",
            f"[what|which] [top_p|top p|top-p] does {CHASQUI} use [|by default|if I send none]",
            f"[what is|what's|tell me] the [|default ][top_p|top p|top-p] [in|of|for] [the|] [{DESKTOP}|{RUNTIME}"
            f"|{SERVERLESS}] [|mode]",
            "[what does|explain|tell me about] [top_p|top p|top-p|nucleus sampling] [|do|mean]",
        ],
    ),
    "max_tokens": (
        "max_tokens caps the answer's length. It has no default: an answer runs to its end or to the end of the "
        "context.",
        [
            "[what is|what's|tell me|give me] the default [max_tokens|max tokens|of max_tokens|for max_tokens|value "
            "of max_tokens]",
            "how do I [limit|cap|restrict|shorten] [the answer|the length|the number of tokens|the length of the "
            "answer|the reply]",
            "[what does|explain|tell me about] [max_tokens|max tokens|the max_tokens field] [|do|mean]",
            "[how long|how many tokens] can [an answer|a reply|the output] [be|have]",
        ],
    ),
    "repeat_penalty": (
        "It is repeat_penalty in desktop mode and repetition_penalty in the runtime and serverless modes; the "
        "default is 1.0.",
        [
            "[what is|what's|tell me|give me] the default [repeat_penalty|repetition_penalty|repeat penalty"
            "|repetition penalty]",
            "[what does|explain|tell me about] [|the ][repeat_penalty|repetition_penalty|repeat penalty|repetition "
            "penalty] [|do|mean]",
            "how do I [discourage|avoid|prevent|penalize|reduce] [repetition|repetitions|repeated words|loops]",
            "is there a [repeat|repetition] penalty [|in chasqui|parameter|setting]",
            "which mode [has|knows|supports|uses] [repeat_penalty|repetition_penalty]",
        ],
    ),
    "min_p": (
        "min_p works in the runtime and serverless modes and is off by default.",
        [
            "[what is|what's|tell me|give me] the default [min_p|min p|min-p|of min_p|for min_p|value of min_p]",
            "[what does|explain|tell me about] [min_p|min p|min-p|the min_p parameter] [|do|mean]",
            "[which|what] modes [know|support|have|take|accept] [min_p|min p|min-p]",
            "[can I use|do you support|does chasqui support|is there] [min_p|min p|min-p]",
        ],
    ),
    "stream": (
        "Send \"stream\": true. The answer then comes as server-sent events, and the last one is data: [DONE].",
        [
            "how [do|can] I [stream|get a stream of|receive a stream of] [|the] [answer|answers|reply|tokens"
            "|response|output|text]",
            f"[can|does|is] {CHASQUI} [stream|support streaming|able to stream|do streaming]",
            "how does [streaming|a stream|the stream] work",
            "[what|which] [field|option|parameter] [turns on|enables|starts|switches on] [streaming|the stream]",
            "how [do|can] I [see|get|read] [the tokens|the answer|the text] [as it is written|as they come|bit by "
            "bit|while it is generated]",
            "[turn on|enable|explain|I want] streaming",
        ],
    ),
    "engine": (
        "llama.cpp runs the model, called from Node.js through a native addon.",
        [
            "[which|what] [library|engine|backend|software] [runs|executes|drives|powers|loads] [the model|the "
            "models|this model|you|chasqui]",
            f"[which|what] [library|engine|backend] does {CHASQUI} [use|run on|build on|rely on]",
            "what [is|was] [chasqui|it|this server] [built on|based on|built with|made with]",
            "[does|do|is] [chasqui|you|it] [use llama.cpp|using llama.cpp|run on llama.cpp|based on llama.cpp]",
            "how [is|does] the model [run|executed|get executed|loaded]",
        ],
    ),
    "licence": (
        "chasqui has the MIT licence.",
        [
            f"[what|which] [licence|license] does {CHASQUI} [have|use|carry|come with]",
            f"[what is|what's|tell me|show me] the [licence|license] [|of {CHASQUI}]",
            f"[is|was] {CHASQUI} [open source|free|free software|MIT licensed|under MIT|open-source]",
            "[under which|under what|which|what] [licence|license] is [chasqui|it|this|the code] [|published|released]",
            "[can|may] I use chasqui [for free|commercially|at work|in my product]",
        ],
    ),
    "install": (
        "Run npm install chasqui.",
        [
            "how [do|can] I [install|download|get|set up] [chasqui|the chasqui package|this package|the package]",
            "[what is|which is|tell me|give me] the [install command|installation command|command to install chasqui"
            "|command to install it]",
            "[where|how] [do|can] I get chasqui [|from|installed]",
            "[how is|how does] chasqui [installed|get installed]",
        ],
    ),
    "serve": (
        "Run chasqui serve --model M --port P, or npm start to try the demo model.",
        [
            f"how [do|can] I [start|run|launch|boot|bring up] [{CHASQUI}|the server|a server|the {RUNTIME}|a model"
            f"|the demo model]",
            f"[which|what] command [starts|runs|launches] [{CHASQUI}|the server|the {RUNTIME}]",
            f"how [do|can] I [serve|host] a [|local ]model [|from the command line|with chasqui|on my machine]",
            f"[what is|tell me|give me] the command [to start|that starts|for] [the server|the {RUNTIME}|{CHASQUI}]",
        ],
    ),
    "desktop": (
        "Run chasqui serve --mode desktop with a model: the server then listens on port 1234.",
        [
            "how [do|can] I [start|run|open|launch|use] the desktop [app|mode|server|application]",
            "[which|what] command [starts|opens|launches|runs] the desktop [app|mode|server|application]",
            "how do I start the server [in|for|as] [the |]desktop [app|mode]",
            "[how does|explain|describe] the desktop [app|mode] [|work]",
        ],
    ),
    "deploy": (
        "Run chasqui serve --mode serverless with --org and --app: the address then ends in both names.",
        [
            "how [do|can] I deploy [|chasqui|a model|my model|an app|my app|to the cloud|to production|a model to "
            "the cloud]",
            "[which|what] command deploys [|a model|my model|an app|my app|to the cloud|to production]",
            f"how [do|can] I [start|run|use] the {SERVERLESS} [mode|server]",
            "how [do|can] I [make|create|start] a [|private |production ][|serverless ][deployment|cloud deployment]",
            "how [do|can] I [host|put|bring|run] [a model|my model|chasqui] in [the cloud|production]",
        ],
    ),
    "images": (
        "Put an image_url part into the user message: its url is an image address or a data URI. The model must "
        "have vision.",
        [
            "how [do|can] I [send|attach|add|pass|include|use|upload] [an image|images|a picture|pictures|a photo"
            "|photos]",
            "[can|does|do] [chasqui|it|you|the server] [see|read|support|accept|take|understand|handle] [images"
            "|pictures|photos|an image|a picture]",
            "how does image input work",
            "[what is|explain|describe] [the format of an image part|an image part|an image_url part|image input"
            "|vision support]",
            "[can I|how do I] [send|use|pass] [a data URI|base64 images|a base64 image|an image address|an image URL]",
        ],
    ),
    "stop": (
        "Send stop with a string or a list of strings: the answer ends where one of them would appear.",
        [
            "how do [I use|stop strings work|I set|I give|I send] [|a |]stop [|string|strings|sequence|sequences"
            "|words]",
            "[what does|explain|tell me about] [|the ]stop [field|parameter|option|strings] [|do|mean]",
            "[can I|how do I] [stop|end] [the answer|generation|the output] at [a word|a string|a certain word|a "
            "given string]",
            "[does chasqui|do you] support stop [strings|sequences|words]",
        ],
    ),
    "model_name": (
        "In desktop mode any string will do. In the other modes it must be the name of a served model, else you get "
        "a 404.",
        [
            "[what|which] [model name|name] [do|should|must] I [send|use|give|put] [|in the request|in the model "
            "field]",
            "[what does|explain|tell me about] the model [field|name] [|do|mean]",
            "[what happens|what do I get] [if|when] [I send a wrong model name|the model name is wrong|the model is "
            "not known|the model name is unknown]",
            "[what|which] model do I [put|write|name] [in|into] the request",
            "is the model [name|field] [checked|required|important|needed]",
        ],
    ),
    "client": (
        "Yes: give the OpenAI client chasqui's address as its base URL, for example http://localhost:8080/v1.",
        [
            "[can|may|could] I use [the|an] [OpenAI|openai] [client|library|SDK|package] [|with chasqui|with it"
            "|with this server]",
            "[is|was] [chasqui|this|it|the API] [OpenAI compatible|OpenAI-compatible|compatible with OpenAI"
            "|compatible with the OpenAI client]",
            "how do I [use|connect|point|set up] [the|an] OpenAI [client|library|SDK|package] [|to chasqui|with "
            "chasqui|at chasqui]",
            "[will|does|do] [the|my] OpenAI [client|library|SDK|clients|code] work [|with chasqui|here|with this]",
        ],
    ),
    "quantization": (
        "Lower levels such as Q4 are faster, higher levels such as Q6 and Q8 give better quality.",
        [
            "[which|what] [quantization|quantization level|quant] [should I choose|should I use|is best|is better"
            "|do I take]",
            "[what is|explain|tell me about|what are] [quantization|quantization levels|Q4 and Q8|the quantization "
            "levels]",
            "[is|should I take] [Q4|Q8|Q6] [or|better than|faster than] [Q8|Q4|Q6]",
            "[what is the difference|what's the difference] between [Q4|Q6] and [Q8|Q6]",
        ],
    ),
    "library": (
        "Use import { loadModel } from 'chasqui', then for await (const token of model.generate(...)).",
        [
            "[can I use|how do I use|how can I use] chasqui [without a server|in my program|in my code|in-process"
            "|as a library|from JavaScript|from TypeScript]",
            "how [do|can] I [load|run|use] a model [in my program|in my code|in-process|without a server|from "
            "JavaScript|from TypeScript|in Node]",
            "[what is|show me|explain] [loadModel|the library API|the in-process API|the JavaScript API]",
            "is there a [library for my code|JavaScript API|TypeScript API|way without a server]",
        ],
    ),
    "too_long": (
        "You get a 400 error with the code context_length_exceeded.",
        [
            "what [happens|do I get|error comes] [if|when] [the prompt|my prompt|the conversation] is [too long|too "
            "large|longer than the context]",
            "what [happens|do I get] [if|when] [the prompt|my prompt|the conversation] does not fit [|into the "
            "context]",
            "what does context_length_exceeded mean",
            "[which|what] error [do I get|comes|is there] for [a too long prompt|a prompt that does not fit|a long "
            "prompt|a prompt that is too long]",
        ],
    ),
    "ignored": (
        "It is ignored, and the reply names it in the header x-chasqui-ignored. With --strict it is a 400 error.",
        [
            "what happens [to|with] [an unknown|an unsupported|a wrong|a misspelled] [field|parameter|option]",
            "what [happens|do I get] [if|when] I send [an unknown|an unsupported|a wrong|a misspelled] [field"
            "|parameter|option]",
            "[what does|explain|what is] [x-chasqui-ignored|the x-chasqui-ignored header|--strict|the --strict "
            "option] [|do|mean]",
            "are unknown [fields|parameters|options] [ignored|refused|rejected|an error]",
        ],
    ),
    "language": (
        "chasqui is written in TypeScript, with a native part in C++.",
        [
            f"[what|which] [|programming ][language|languages] [is|was] {CHASQUI} [written in|made in|programmed in"
            f"|coded in]",
            f"in [what|which] [|programming ]language is {CHASQUI} [written|programmed|coded|made]",
            "[is|was] chasqui [written in|made with|programmed in] [TypeScript|C++|Rust|Python|JavaScript]",
        ],
    ),
}
