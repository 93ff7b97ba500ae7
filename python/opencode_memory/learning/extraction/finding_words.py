"""Words that show that a sentence of an agent is no lasting finding: plans, reports, guesses, bugs, unnamed subjects."""

from __future__ import annotations

import re
from typing import Final

NOT_A_FINDING: Final = re.compile(
    # a speaker or an addressee: plans, offers, reports
    r"\b(?:I|I['’][a-z]+|we|we['’][a-z]+|you|you['’][a-z]+|your|my|me|us|let|let['’]s|please)\b|"
    # obligations, guesses, conditions
    r"\b(?:should|shall|will|would|could|might|may|must|need|needs to|has to|have to|going to|want|wants)\b|['’]d\b|['’]ll\b|"
    r"\b(?:likely|probably|perhaps|maybe|possibly|seems?|looks? (?:fine|good|like)|appears?|suggests?|apparently|presumably|suspect|guess|says|assum\w+|consider)\b|"
    # states of the work
    r"\b(?:now|currently|still|already|yet|today|recently|previously|earlier|again|any ?more|no longer|so far|at the moment|this time|just|here|there|like (?:this|that)|until then|initially|never been)\b|"
    r"\b(?:updated|fixed|added|removed|changed|implemented|refactored|replaced|created|resolved|verified|confirmed|refined|renamed|cleaned|chose|checked|matched|confirming)\b|"
    r"\b(?:was|were|had|did|didn['’]t|wasn['’]t|weren['’]t|hadn['’]t|has been|have been|happened|occurred|failed|passed|broke|worked|showed|accepted|dropped|moved|thrown away)\b|"
    r"\b(?:is|are|isn['’]t|aren['’]t|['’]s|['’]re)(?: \w+ly| not)? (?!missing\b|existing\b|nothing\b|something\b|anything\b|everything\b|string\b|during\b)[a-z]+ing\b|"
    # code of the moment
    r"\blines? \d|\bthis (?:file|function|error|issue|line|change|commit|test|component|code|fix|session|case|project|codebase|package)\b|"
    r":\d+\b|#L\d+|\bD\d+\b|«|»|…|[✅❌⚠🎯🔧🚨📊✔✓✗➜→⏳🟢🔴]|\?|:$|\||^[^(]*\)$",
    re.IGNORECASE,
)
"""Occurs in plans, reports, guesses and remarks about the code at hand."""

TALKS_ABOUT_A_BUG: Final = re.compile(
    r"\b(?:fail|fails|failing|failures?|crash(?:es)?|broken|bugs?|fix|fixes|issues?|problems?|regressions?|tests?|todo|mock(?:ed|s)?|errors?|inconsistent|incorrect|wrong|invalid|mismatch|"
    r"too (?:early|late|strict|small|large|many)|works because|is fine|is safe|is honest\w*|properly|correctly|is called|left alone)\b",
    re.IGNORECASE,
)
"""Occurs in descriptions of a bug, which is usually fixed in the same session."""

NOT_A_NAME: Final = re.compile(
    r"(?:The|An?|Our|All|Each|Every|Any|It|Its|This|That|These|Those|They|There|He|She|Both|Here|Which|What|Who|Some|Most|Many|No|None|Nothing|"
    r"If|When|While|After|Before|Since|Because|As|For|In|On|At|By|With|Without|To|From|Due|Once|Until|Given|Using|Then|Thus|So|But|And|Or|Not|Only|Just|"
    r"Also|Even|Ensures?|Secrets|AI|Use|Uses|Run|Runs|Set|Make|Keep|Add|Verify|Check|Ensure|Allow|Require|Note|Good|Great|Yes|Yep|Peer|Environment|Project|Production|Memory|"
    r"API|UI|URL|CSS|JSON|HTML|SQL|CI|DB|ID|HTTP|HTTPS|LLM|PR|PRs|CLI|CLIs|UUID|TODO|JS|TS|GUI|TUI|CSV|XML|YAML|OS|UX|MVP|E2E|SDK|CPU|GPU|FPS|OK|README|"
    r"FTS|DAG|TTY|CWD|IDs?|Session|Option|Phase|Step|Task|Test|Round|Version|V\d.*)",
)
"""First words of sentences that are no names of products, and abbreviations that name no certain one."""
