# What the demo model is asked, and what it replies at temperature 0.
from pydantic import BaseModel
from typing import Literal

NUMBERS = "3, 4, 5, 6, 7, 8, 9"
COUNT = [{"role": "user", "content": "Count from 3 to 9"}]
LONG = [{"role": "user", "content": "sea " * 3000}]


class City(BaseModel):
    city: Literal["Cuzco", "Lima"]


PARAMETERS = {**City.model_json_schema(), "additionalProperties": False}
FUNCTION = {"name": "weather", "description": "The weather of a city.", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}


def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"
