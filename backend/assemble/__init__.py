"""PTX text to machine code: which assemblers there are, running them, and what they say."""

from .image import image_resources
from .messages import Message, first_by_line, parse_messages
from .module import Cubin, assemble, default_toolchain, resource_usage, resources_of
from .outcome import Outcome, run_tool
from .resources import Resources, parse_resources
from .sass import disassemble, disassembler
from .toolchain import Toolchain, find, toolchains

__all__ = [
    "Cubin", "Message", "Outcome", "Resources", "Toolchain", "assemble", "default_toolchain", "disassemble",
    "disassembler", "find", "first_by_line", "image_resources", "parse_messages", "parse_resources", "resource_usage",
    "resources_of", "run_tool", "toolchains",
]
