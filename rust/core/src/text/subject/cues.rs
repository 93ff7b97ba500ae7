//! Lists of words and phrases that tell what a statement does: it says that something changed, rejects, adds or guesses.

/// A clause that begins with one of these limits the one before it.
pub(super) const LIMITS: &[&str] = &[
    "not", "never", "only", "but", "and", "or", "except", "unless", "instead", "also", "too", "no", "rather", "even",
    "then", "which", "who", "that",
];
/// Cues that say clearly that something changed, by what they say of it.
pub(super) const STRONG: &[&[&[&str]]] = &[STRESSES, SHIFTS, CHANGES_PART, CORRECTS, TAKES_OVER, RENAMES, ENDS];
/// Cues that may also only stress a statement: "the job actually needs two workers".
pub(super) const STRESSES: &[&[&str]] = &[&["actually"], &["instead"], &["turns", "out"]];
/// Cues that may only say that a part changed: "the job has changed owners".
pub(super) const CHANGES_PART: &[&[&str]] =
    &[&["have", "changed"], &["has", "changed"], &["was", "changed"], &["were", "changed"], &["we", "changed"]];
/// Cues that take back what was said, and may leave open what it was.
pub(super) const CORRECTS: &[&[&str]] = &[
    &["is", "wrong"],
    &["was", "wrong"],
    &["not", "right"],
    &["correction"],
    &["changed", "my", "mind"],
    &["changed", "our", "mind"],
    &["scratch", "that"],
];
/// Cues that give a thing to somebody else.
pub(super) const TAKES_OVER: &[&[&str]] = &[&["took", "over"], &["takes", "over"]];
/// Cues that give a thing another name.
pub(super) const RENAMES: &[&[&str]] = &[&["renamed"]];
/// Cues that give a thing another place, tool, version, amount or date. They leave alone how often it runs, or how fast.
pub(super) const SHIFTS: &[&[&str]] = &[
    &["switched"],
    &["switch", "to"],
    &["switching", "to"],
    &["changed", "to"],
    &["changed", "from"],
    &["reverted", "to"],
    &["back", "to"],
    &["went", "with"],
    &["moved", "to"],
    &["moved", "from"],
    &["moving", "to"],
    &["has", "moved"],
    &["have", "moved"],
    &["migrated"],
    &["bumped", "to"],
    &["upgraded", "to"],
    &["raised", "to"],
    &["lowered", "to"],
    &["postponed"],
    &["pushed", "back"],
];
/// Cues that end or turn round what was said.
const ENDS: &[&[&str]] = &[
    &["no", "longer"],
    &["any", "more"],
    &["anymore"],
    &["any", "longer"],
    &["forget"],
    &["replaced"],
    &["replaces"],
    &["replace"],
    &["other", "way", "round"],
    &["other", "way", "around"],
    &["vice", "versa"],
    &["dropped"],
    &["ditched"],
    &["gone"],
    &["retired"],
    &["deprecated"],
];
/// Stems of words by which a statement says what a thing is called.
pub(super) const NAMING: &[&str] = &["brand", "call", "known", "label", "name", "renam", "titl"];
/// Stems of things that hold other things, so that a move to one of them says where a thing is.
pub(super) const HOLDERS: &[&str] =
    &["board", "channel", "directori", "folder", "namespac", "packag", "repo", "repositori", "team", "workspac"];
/// Behind "back to", a word that names no value.
pub(super) const AS_BEFORE: &[&str] = &["business", "green", "life", "normal", "work"];
/// Before "back to", a verb that describes what a program does.
pub(super) const RETURNS: &[&str] = &[
    "fall",
    "falls",
    "fell",
    "falling",
    "default",
    "defaults",
    "redirect",
    "redirects",
    "write",
    "writes",
    "send",
    "sends",
    "report",
    "reports",
    "map",
    "maps",
    "point",
    "points",
    "link",
    "links",
    "roll",
    "rolls",
    "return",
    "returns",
    "convert",
    "converts",
    "forward",
    "forwards",
    "refer",
    "refers",
];
/// Before "forget", a word that makes it an order. After another one, somebody forgets.
pub(super) const ORDERS: &[&str] = &[
    "also", "and", "better", "can", "could", "hey", "just", "lets", "may", "must", "no", "now", "oh", "ok", "okay",
    "or", "please", "should", "simply", "so", "sorry", "then", "to", "us", "well", "yes",
];
/// Before "deprecated", a word that makes it a change. After another word, it describes a noun.
pub(super) const STATES: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "being",
    "has",
    "have",
    "had",
    "we",
    "i",
    "they",
    "now",
    "got",
    "officially",
    "finally",
];
pub(super) const WEAK: &[&[&str]] = &[
    // These begin a rule; whether an earlier one ends is open.
    &["from", "now", "on"],
    &["going", "forward"],
    &["now"],
    &["new"],
    &["currently"],
    &["these", "days"],
    &["nowadays"],
    &["already"],
    &["as", "of"],
    &["after", "all"],
    &["stays"],
    &["remains"],
    &["stay", "with"],
    &["staying", "with"],
    &["stick", "with"],
    &["sticking", "with"],
];
/// A statement with one of these permits what an earlier rule may forbid.
pub(super) const PERMITS: &[&[&str]] = &[
    &["you", "may"],
    &["we", "may"],
    &["you", "can"],
    &["we", "can"],
    &["feel", "free", "to"],
    &["is", "fine"],
    &["are", "fine"],
    &["is", "ok"],
    &["is", "okay"],
    &["is", "allowed"],
    &["are", "allowed"],
    &["allowed", "to"],
    &["is", "possible"],
];
/// A permission with one of these is general.
pub(super) const ALLOWS: &[&[&str]] = &[&["is", "allowed"], &["are", "allowed"]];
/// A permission or an exemption with one of these may hold only under a condition, for some people, or once.
pub(super) const CONDITIONS: &[&str] = &[
    "only", "if", "once", "when", "after", "before", "unless", "until", "while", "except", "but", "as", "that",
    "which", "who", "whenever", "wherever", "today", "tonight", "tomorrow", "week", "month", "sprint", "time", "just",
    "for",
];
/// Conditions of a case that may never come.
pub(super) const HYPOTHESES: &[&str] = &["if", "unless", "once", "whenever", "wherever"];
/// The words between "not" and a duty that no longer holds.
pub(super) const DUTIES: &[&[&str]] =
    &[&["need", "to"], &["have", "to"], &["required", "to"], &["obliged", "to"], &["need", "for"]];
/// The words before one of these are no longer a duty.
pub(super) const EXEMPTS: &[&[&str]] = &[
    &["is", "optional"],
    &["are", "optional"],
    &["is", "not", "needed"],
    &["are", "not", "needed"],
    &["is", "not", "required"],
    &["are", "not", "required"],
    &["is", "not", "necessary"],
    &["are", "not", "necessary"],
    &["is", "not", "mandatory"],
    &["are", "not", "mandatory"],
];
/// The change before one of these is called off.
pub(super) const CALLED_OFF: &[&[&str]] = &[
    &["is", "cancelled"],
    &["was", "cancelled"],
    &["has", "been", "cancelled"],
    &["is", "canceled"],
    &["was", "canceled"],
    &["has", "been", "canceled"],
];
/// Verbs whose negation reminds of what follows: "do not forget", "never skip".
pub(super) const NEGLECTS: &[&str] =
    &["forget", "ignore", "skip", "omit", "neglect", "miss", "overlook", "disregard", "bypass"];
/// The word that stands for a negated neglect.
pub(super) const REMINDS: &str = "remember";
/// Nouns of a change that is called off: "the move to Redis is cancelled".
pub(super) const CHANGES: &[&str] = &["move", "switch", "migration", "change", "upgrade"];
/// The words after one of these are rejected.
pub(super) const REJECT_NEXT: &[&[&str]] = &[
    &["instead", "of"],
    &["rather", "than"],
    &["in", "place", "of"],
    &["no", "longer"],
    &["stop", "using"],
    &["stopped", "using"],
    &["forget", "about"],
    &["forget"],
    &["dropped"],
    &["ditched"],
    &["got", "rid", "of"],
    &["get", "rid", "of"],
    &["away", "from"],
    &["switched", "from"],
    &["moved", "from"],
    &["migrated", "from"],
    &["changed", "from"],
    &["avoid"],
    &["replaces"],
    &["replaced"],
    &["replace"],
    &["took", "over", "from"],
    &["takes", "over", "from"],
    &["renamed", "from"],
];
/// The words before one of these are rejected.
pub(super) const REJECT_BEFORE: &[&[&str]] = &[
    &["is", "gone"],
    &["are", "gone"],
    &["is", "retired"],
    &["is", "deprecated"],
    &["is", "dead"],
    &["was", "removed"],
    &["were", "removed"],
    &["has", "been", "removed"],
    &["have", "been", "removed"],
    &["was", "shut", "down"],
    &["has", "been", "shut", "down"],
    &["was", "dropped"],
    &["is", "not", "used"],
    &["was", "retired"],
    &["no", "longer", "exists"],
    &["no", "longer", "exist"],
    &["was", "replaced", "by"],
    &["has", "been", "replaced", "by"],
    &["is", "replaced", "by"],
    &["were", "replaced", "by"],
    &["was", "deleted"],
    &["no", "longer", "applies"],
    &["no", "longer", "needed"],
    &["is", "history"],
];
pub(super) const ADDS: &[&[&str]] = &[
    &["also"],
    &["too"],
    &["additionally"],
    &["as", "well"],
    &["both"],
    &["besides"],
    &["another"],
    &["second"],
    &["in", "addition"],
    &["plus"],
    &["and", "also"],
];
pub(super) const TENTATIVE: &[&[&str]] = &[
    &["maybe"],
    &["perhaps"],
    &["might"],
    &["could"],
    &["what", "if"],
    &["considering"],
    &["would"],
    &["for", "now"],
    &["temporarily"],
    &["today"],
    &["this", "week"],
    &["until"],
    &["for", "the", "moment"],
    &["this", "time"],
    &["just", "once"],
    &["probably"],
    &["wondering"],
    &["i", "think"],
    &["not", "sure"],
    &["accidentally"],
    &["mistakenly"],
    &["by", "accident"],
    &["by", "mistake"],
    &["bad", "idea"],
    &["was", "rejected"],
    &["were", "rejected"],
    &["talked", "about"],
    &["talking", "about"],
    &["discussed"],
    &["discussing"],
    &["in", "the", "past"],
    &["should", "have", "used"],
    &["try"],
    &["tried"],
    &["trying"],
    &["if", "we"],
    &["for", "this", "pr"],
    &["for", "this", "branch"],
    &["experiment"],
    &["used", "to"],
    &["plan", "to"],
    &["plan", "is"],
    &["planning", "to"],
    &["someday"],
    &["one", "day"],
    &["eventually"],
    &["long", "term"],
    &["some", "point"],
    &["next", "year"],
    &["proposal"],
    &["suggests"],
    &["suggested"],
    &["thinking"],
    &["leaning"],
    &["evaluating"],
    &["toying"],
    &["wants", "to"],
    &["spike"],
];
/// A statement that begins with one of these asks, also without a question mark.
pub(super) const QUESTIONS: &[&str] = &["how", "what", "whether", "who", "why"];
/// Verbs that end the part of a statement which names its subject, and words that do so without a verb.
pub(super) const SUBJECT_ENDS: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "will", "can", "does", "do", "not", "no", "never", "uses", "use",
    "used", "runs", "listens", "lives", "moved", "moves", "switched", "switches", "replaced", "replaces", "dropped",
    "drops", "targets", "deploys", "deployed", "went", "goes", "belongs", "owns", "took", "starts", "stays", "should",
    "must", "needs", "instead", "now", "stopped", "says", "said", "asks", "asked",
];
/// Words of a subject that is not the one that an earlier statement of the project is about.
pub(super) const FOREIGN: &[&str] =
    &["their", "they", "his", "her", "someone", "somebody", "upstream", "legacy", "other", "another", "sister"];
/// A place or a value follows that is left: "moved the docs from A to B".
pub(super) const MOVES: &[&str] =
    &["moved", "move", "moving", "switched", "migrated", "changed", "went", "renamed", "raised", "lowered", "ported"];
/// A reason or a detail follows; it belongs to no subject.
pub(super) const REASON: &[&str] =
    &["because", "otherwise", "which", "so", "due", "where", "whereas", "though", "although"];
/// Circumstances follow.
pub(super) const SCOPE: &[&str] = &[
    "for", "in", "on", "at", "when", "while", "during", "under", "within", "inside", "before", "after", "if", "unless",
    "except", "until", "with", "without", "of", "from", "to", "into", "by", "per",
];
/// Verbs that begin an order.
pub(super) const IMPERATIVE: &[&str] = &[
    "use", "run", "squash", "rebase", "merge", "commit", "deploy", "write", "add", "keep", "put", "push", "call",
    "test", "format", "lint", "indent", "name", "prefer", "store", "build", "install", "log", "ask", "review",
    "document", "import", "export", "wrap", "return", "throw", "catch", "mock", "prefix", "sort", "split", "tag",
    "release", "open", "close", "start", "stop", "check", "update", "bump", "cache", "validate", "handle", "avoid",
    "create", "make", "delete", "edit", "touch", "enable", "disable",
];
/// Verbs of an order that is done once, unless it says "always" or "never".
pub(super) const TASKS: &[&str] = &[
    "run", "merge", "commit", "deploy", "add", "push", "call", "test", "build", "install", "review", "release", "open",
    "close", "start", "stop", "check", "update", "bump", "create", "make", "delete", "edit", "touch",
];
/// Verbs that begin the end of a rule.
pub(super) const ENDS_RULES: &[&str] = &["forget", "drop", "ditch", "switch", "replace", "scratch", "scrap"];
/// Words of a statement about what is wanted.
pub(super) const WISHES: &[&str] = &["we", "i", "us", "our", "let", "lets", "should", "must", "want", "prefer"];
/// Verbs in front of a negation's object, which name no subject.
pub(super) const COPULA: &[&str] = &[
    "is", "are", "=", "to", "was", "be", "becomes", "equals", "at", "on", "into", "with", "by", "use", "using", "uses",
    "via", "called",
];
