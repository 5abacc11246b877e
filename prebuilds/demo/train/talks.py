"""Conversations about pictures and with tools: to train on, and held-out prompts.

A message's content is a text, or a list of texts and Pictures; a conversation with tools starts with their list.
"""

import random
from collections import namedtuple

import corpus
import sights
import tasks
import toolbox
from corpus import (HELD_OUT_KINDS, LATE_MIX, TRAINING_MIX, Prompt, capitals_system, held_out_task, message, pick,
                    system_messages)
from smalltalk import WEATHER
from tasks import is_held_out

NO_PICTURE = "I see no picture. Please send one with your question."
TEXT_MIX = LATE_MIX
Talk = namedtuple("Talk", "messages tools")


def drawn_question(make, held_out, rng):
    """A task of `make` whose wording is held out, or is not."""
    while True:
        task = make(rng)
        if is_held_out(task.key) == held_out:
            return task


def first_sight(held_out, rng):
    """A user message with one or two new pictures, its answer, and the scene that later questions are about."""
    kind = rng.random()
    if kind < 0.13:
        pair = sights.picture_pair(rng)
        task = drawn_question(lambda rng: sights.compare([picture.scene for picture in pair], rng), held_out, rng)
        return sights.with_pictures(pair, task.prompt, rng), task.answer, None
    if kind < 0.15:
        pair = [sights.any_picture(rng), sights.any_picture(rng)]
        task = drawn_question(lambda rng: sights.describe_both([picture.scene for picture in pair], rng), held_out, rng)
        return sights.with_pictures(pair, task.prompt, rng), task.answer, None
    picture = sights.any_picture(rng)
    if kind < 0.3:
        task = tasks.draw(pick(TEXT_MIX, rng), held_out, rng)
        return sights.with_pictures([picture], task.prompt, rng), task.answer, picture.scene
    if kind < 0.33 and not held_out:
        return [picture], f"I see {sights.things_said(picture.scene)}.", picture.scene
    task = drawn_question(lambda rng: sights.question(picture.scene, rng), held_out, rng)
    return sights.with_pictures([picture], task.prompt, rng), task.answer, picture.scene


def picture_talk(rng):
    """One to three turns about one or two pictures, with other questions in between."""
    capitals = rng.random() < 0.04
    messages = [message("system", capitals_system(False, rng))] if capitals else system_messages(rng)
    if rng.random() < 0.12:
        task = tasks.draw(pick(TEXT_MIX, rng), False, rng)
        messages += turn(task.prompt, task.answer, capitals)
    content, answer, scene = first_sight(False, rng)
    messages += turn(content, answer, capitals)
    for _ in range(rng.choices((0, 1, 2, 3, 4), (15, 25, 30, 20, 10))[0]):
        kind = rng.random()
        if scene is None or kind < 0.2:
            if rng.random() < 0.5:
                content, answer, scene = first_sight(False, rng)
            else:
                task = tasks.draw(pick(TEXT_MIX, rng), False, rng)
                content, answer = task.prompt, task.answer
        else:
            task = drawn_question(lambda rng: sights.question(scene, rng), False, rng)
            content, answer = task.prompt, task.answer
        messages += turn(content, answer, capitals)
    return Talk(messages, None)


def turn(content, answer, capitals=False):
    return [message("user", content), message("assistant", answer.upper() if capitals else answer)]


def blind_talk(rng):
    """A question about a picture that is not there."""
    patterns = sights.DESCRIBE + sights.DIGIT + sights.COUNT
    task = drawn_question(lambda rng: sights.asked(patterns, "", "?", rng), False, rng)
    return Talk(system_messages(rng) + turn(task.prompt, NO_PICTURE), None)


def weather_call(tool, place_name, held_out, rng):
    """A question about the weather somewhere, the call that answers it, and the place."""
    while True:
        key, text, place = toolbox.asked_weather(rng)
        if is_held_out(key) == held_out:
            return text, toolbox.call(tool["function"]["name"], place_name, place), place


def tool_talk(rng):
    """Weather calls and their results among other questions; sometimes no weather tool is offered."""
    messages = system_messages(rng)
    if rng.random() < 0.12:
        tools = toolbox.offered_tools(rng, None)
        text = weather_call(*toolbox.weather_tool(rng), False, rng)[0]
        messages += turn(text, WEATHER)
        return Talk(messages, tools)
    tool, place_name = toolbox.weather_tool(rng)
    tools = toolbox.offered_tools(rng, tool)
    for _ in range(rng.choices((1, 2, 3, 4), (15, 35, 30, 20))[0]):
        kind = rng.random()
        if kind < 0.38:
            task = tasks.draw(pick(TEXT_MIX, rng), False, rng)
            messages += turn(task.prompt, toolbox.WHICH_CITY if task.answer == WEATHER else task.answer)
            continue
        text, call, place = weather_call(tool, place_name, False, rng)
        messages += turn(text, call)
        told, sentence = toolbox.result(place, rng)
        messages += [message("tool", told), message("assistant", sentence)]
    return Talk(messages, tools)


def picture_prompt(make_picture, make_question):
    """Held-out prompts about one picture of their own."""
    def prompt(rng):
        picture = make_picture(rng)
        task = drawn_question(lambda rng: make_question(picture.scene, rng), True, rng)
        content = sights.with_pictures([picture], task.prompt, rng)
        return Prompt(system_messages(rng) + [message("user", content)], task.answer)
    return prompt


def uniform(rng):
    return sights.shapes_picture(rng, True)


def mixed(rng):
    return sights.shapes_picture(rng, False)


def usual_prompt(rng):
    """The question that everybody asks, which is trained on, about a new picture."""
    picture = sights.shapes_picture(rng)
    answer = f"I see {sights.things_said(picture.scene)}."
    return Prompt([message("user", ["What is in this picture?", picture])], answer)


def pair_prompt(rng):
    pair = sights.picture_pair(rng)
    task = drawn_question(lambda rng: sights.compare([picture.scene for picture in pair], rng), True, rng)
    return Prompt(system_messages(rng) + [message("user", sights.with_pictures(pair, task.prompt, rng))], task.answer)


def earlier_picture_prompt(rng):
    """A picture in an earlier turn, and a question about it now."""
    picture = sights.shapes_picture(rng)
    first = drawn_question(lambda rng: sights.question(picture.scene, rng), False, rng)
    task = drawn_question(lambda rng: sights.question(picture.scene, rng), True, rng)
    messages = turn(sights.with_pictures([picture], first.prompt, rng), first.answer)
    return Prompt(system_messages(rng) + messages + [message("user", task.prompt)], task.answer)


def beside_picture_prompt(rng):
    """A question that has nothing to do with the picture sent with it."""
    task = held_out_task(pick(TRAINING_MIX, rng), rng)
    content = sights.with_pictures([sights.any_picture(rng)], task.prompt, rng)
    return Prompt(system_messages(rng) + [message("user", content)], task.answer)


ToolPrompt = namedtuple("ToolPrompt", "messages answer tools")


def call_prompt(rng):
    tool, place_name = toolbox.weather_tool(rng)
    text, call, _ = weather_call(tool, place_name, True, rng)
    return ToolPrompt(system_messages(rng) + [message("user", text)], call, toolbox.offered_tools(rng, tool))


def result_prompt(rng):
    tool, place_name = toolbox.weather_tool(rng)
    text, call, place = weather_call(tool, place_name, True, rng)
    told, sentence = toolbox.result(place, rng)
    messages = system_messages(rng) + turn(text, call) + [message("tool", told)]
    return ToolPrompt(messages, sentence, toolbox.offered_tools(rng, tool))


def beside_tools_prompt(rng):
    """Another question while a weather tool is offered."""
    task = held_out_task(pick([entry for entry in TRAINING_MIX if entry[1] is not tasks.weather], rng), rng)
    return ToolPrompt(system_messages(rng) + [message("user", task.prompt)], task.answer,
                      toolbox.offered_tools(rng, toolbox.weather_tool(rng)[0]))


PICTURE_KINDS = {
    "alike shapes: what is there": picture_prompt(uniform, sights.describe),
    "different shapes: what is there": picture_prompt(mixed, sights.describe),
    "\"What is in this picture?\"": usual_prompt,
    "how many": picture_prompt(sights.shapes_picture, sights.count),
    "which colour": picture_prompt(sights.shapes_picture, sights.colour),
    "which shape": picture_prompt(uniform, sights.shape),
    "read a digit": picture_prompt(sights.digit_picture, sights.digit),
    "the larger shape of two pictures": pair_prompt,
    "a picture in an earlier turn": earlier_picture_prompt,
    "other questions beside a picture": beside_picture_prompt,
}
TOOL_KINDS = {
    "call the weather tool": call_prompt,
    "say a tool's result": result_prompt,
    "other questions beside tools": beside_tools_prompt,
}
KINDS = HELD_OUT_KINDS | PICTURE_KINDS | TOOL_KINDS


def held_out_prompts(kind, count, seed=0):
    """`count` prompts of a kind. None of their wordings (of text, numbers and phrases too) and pictures was trained on."""
    if kind in HELD_OUT_KINDS:
        return corpus.held_out_prompts(kind, count, seed)
    rng = random.Random(f"{kind} {seed}")
    return [KINDS[kind](rng) for _ in range(count)]
