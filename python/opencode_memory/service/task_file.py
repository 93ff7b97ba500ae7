"""The file of a task of the Windows Task Scheduler, which has the command line of the server in its data.

The file is ASCII without a declared encoding, because ``schtasks`` reads a file in the code page of the user and then
refuses a declaration that names another one. Other characters are references.
"""

from __future__ import annotations

import json
import re
import subprocess
from types import MappingProxyType
from typing import Final
from xml.sax.saxutils import escape, unescape

from opencode_memory.service.launch import Launch
from opencode_memory.service.manager import MARK

# StopExisting: to run the task again is to restart the server. A priority of 5 is that of a usual program; without it,
# the server would have less than the programs of the desktop. PT0S: the server may run for ever.
_TEMPLATE: Final = """\
<?xml version="1.0"?>
<!-- {mark} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>opencode-memory, memory for coding agents</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>StopExisting</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
  </Settings>
  <Data>{data}</Data>
  <Actions Context="Author">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{arguments}</Arguments>
    </Exec>
  </Actions>
</Task>
"""
LOG_FILE: Final = "start.log"
"""Name of a file beside the file of the task: the output of the server before it opens its own log."""
_DATA: Final = re.compile(r"<Data>(.*?)</Data>", re.DOTALL)


def render(launch: Launch, *, user: str, program: str, arguments: tuple[str, ...]) -> str:
    r"""Return the text of the file.

    Args:
        launch: Command line and variables of the server.
        user: The account of the user, as ``DOMAIN\NAME``.
        program: The program of the task.
        arguments: The arguments of the program.
    """
    data = json.dumps({"arguments": launch.arguments, "environment": dict(launch.environment)})
    text = _TEMPLATE.format(
        mark=MARK,
        user=escape(user),
        data=escape(data),
        program=escape(program),
        arguments=escape(subprocess.list2cmdline(arguments)),
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def parse(text: str) -> Launch:
    """Parse a file that ``render`` wrote."""
    found = _DATA.search(text)
    content = json.loads(unescape(found[1])) if found else {}
    return Launch(
        arguments=tuple(content.get("arguments", ())),
        environment=MappingProxyType(dict(content.get("environment", {}))),
    )
