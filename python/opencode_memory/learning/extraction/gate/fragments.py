"""Fragments of patterns that several forms of the gate share."""

from __future__ import annotations

from typing import Final

NO_ORDER: Final = (
    r"(?:see|sees|get|gets|hit|hits|reach|hear|know|knew|receive|find|finds|load|loads|work|works|show|appear|"
    r"match|end|ends|seem|seen|been|gone|had|has|have|was|were|is|are|did|does|said|asked|told|"
    r"wanted|used|happen|notice|think|thought|made|came|went|got|saw|found|became|understood|understand|forget|"
    r"mind|ever|quite|really|on|off|the|a|an|in|at|as|so|to|going|feel|run into|happy|welcome|there|here|\w+ed|"
    r"\w+ing|(?!focus)\w+[^su]s)\b"
)
"""Words after "always" or "never" that begin a complaint or a report: "it never loads"."""
VERB: Final = rf"(?!{NO_ORDER})[a-z][a-z'-]+"
LEAD: Final = (
    r"(?:(?:and|oh|btw|also|so|but|then|please|pls|just|ok|yes|no|again|general rule|important|it(?:'s|"
    r" is) (?:very |really )?(?:important|essential|crucial) (?:that you|that we|that|to)|remember to|be sure to|"
    r"make sure (?:to|"
    r"you|that you|we|that we)|try to|"
    r"(?:you|u|we|agents?|claude|cursor|everyone) (?:should|must|need to|have to|shall|are to|can|will)|"
    r"i want you to|i need you to|i'd like you to|can you|could you)[,:]?\s+)*"
)
"""Words before an order that add nothing to it."""
FROM_NOW: Final = (
    r"(?:from now on|from now onwards?|from here on(?: out)?|going forwards?|moving forwards?|"
    r"from this point (?:on|forward)|henceforth|in (?:the )?future|next time|as a (?:general )?rule|"
    r"(?:in|for|across) all (?:of )?(?:my|our) projects|for future (?:tasks|sessions|changes|work|commits|prs)|"
    r"in every session)"
)
EACH_TIME: Final = r"(?:every ?time|each time|whenever|any ?time)"
_PROJECTS: Final = r"(?:projects?|repos?|repositor(?:y|ies)|code ?bases?)"
_WORK_ON: Final = r"(?:i|we) (?:work on|have|own|maintain)\b"
ALL_PROJECTS: Final = (
    # "All our codebase" is one, and "my project folders" are none.
    r"(?:in|for|across) (?:all|every|each|any)(?: single)?(?:(?: one)?(?: of)? (?:my|our) (?:projects|repos|repositories|code ?bases)"
    rf"|(?: of)?(?: the)? {_PROJECTS} (?:of (?:mine|ours)|(?:that|which) {_WORK_ON}"
    # "For each project we have a folder" may be about the projects of one repository.
    rf"|{_WORK_ON}(?=\W*$|\s*[,.;:!?)]|\s+(?:i|we|you|use|always|never|please)\b)))\b"
)
"""Words by which the user wants something in all their projects."""
LATER: Final = (
    r"(?:from now on|(?:for|in) (?:later|good|(?:the |your )?(?:future|memory|next time)|(?:all |every |each |the |future |next )*"
    r"sessions?))"
)
"""What stands behind "remember that" if it points back."""
PLACE: Final = (
    r"(?:in|into|on|at|to|for|from|under|as|with|down)(?: [\w./`-]+){0,2}(?: (?:sessions?|time|future|memory))?"
    r"(?:,? (?:please|pls))?\W*"
)
"""Words behind "remember that" that state nothing, such as "in the README". "On Fridays nobody deploys" does not match."""
