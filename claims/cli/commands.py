"""A group of commands, each in a module of its own that is loaded when the command is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Commands(click.Group):
    """`modules` has every command and its module, in the order in which the help lists them."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self._modules.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command
