"""Lasting statements in languages other than English.

The sentences were written for these tests. They show that a form is recognised, not how useful it is in real talk.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from benches.quality.labelled_sessions import FOLDER
from opencode_memory.config.settings import LEARNING_LANGUAGES, SETTINGS
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Feedback, Message, SessionInfo
from opencode_memory.learning.extraction.languages.cues import ENGLISH, MEASURED, read_cues
from opencode_memory.learning.extraction.languages.recognition import recognise
from opencode_memory.learning.extraction.session import Known, step
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.learning.extraction.statements import Context, extract_from_user, is_retraction
from opencode_memory.models import Category

EVERY = frozenset({ENGLISH, *read_cues()})
CODES = sorted(read_cues())


@cache
def read_sentences() -> tuple[tuple[str, bool, str], ...]:
    lines = (FOLDER / "languages.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple((one["language"], one["lasting"], one["text"]) for one in map(json.loads, lines))


def sentences(code: str, *, lasting: bool) -> list[str]:
    found = [text for language, is_lasting, text in read_sentences() if (language, is_lasting) == (code, lasting)]
    assert len(found) >= 10
    return found


def extract(text: str, languages: frozenset[str] = EVERY) -> tuple[Candidate, ...]:
    return extract_from_user(text, Context(languages=languages))


@pytest.mark.parametrize("code", CODES)
def test_each_lasting_sentence_is_one_statement_in_its_own_words(code: str) -> None:
    for text in sentences(code, lasting=True):
        [found] = extract(text)
        assert found.content in text
        assert found.evidence == text
        assert found.is_persons
        assert not found.is_weak


@pytest.mark.parametrize("code", CODES)
def test_reason_of_a_refusal_is_read_in_the_languages_that_are_switched_on(code: str) -> None:
    text = sentences(code, lasting=True)[0]
    message = Message(
        id="m1", at_ms=0, events=(Feedback(tool="bash", input={"command": "make"}, text=text),), digest=""
    )

    def read(*languages: str) -> list[str]:
        known = Known(languages=frozenset(languages))
        state, _ = step(SessionInfo(id="s"), SessionState(), message, known)
        return [candidate.content for candidate in state.pending]

    [content] = read(code)
    assert content in text
    assert read(ENGLISH) == []


@pytest.mark.parametrize("code", CODES)
def test_sentences_about_the_work_at_hand_state_nothing(code: str) -> None:
    assert [text for text in sentences(code, lasting=False) if extract(text)] == []


@pytest.mark.parametrize("code", CODES)
def test_each_sentence_is_read_in_its_own_language_or_in_none(code: str) -> None:
    found = [recognise(text) for text in (*sentences(code, lasting=True), *sentences(code, lasting=False))]
    assert {cues.code for cues in found if cues is not None} == {code}


@pytest.mark.parametrize("code", CODES)
def test_language_that_is_switched_off_is_not_learned_from(code: str) -> None:
    assert [text for text in sentences(code, lasting=True) if extract(text, EVERY - {code})] == []


def test_english_can_be_switched_off() -> None:
    text = "From now on, always run the linter before you commit."
    assert extract(text)
    assert extract(text, EVERY - {ENGLISH}) == ()


def test_only_languages_that_were_tested_on_real_talk_are_on_at_first() -> None:
    assert {ENGLISH, *(code for code, cues in read_cues().items() if cues.is_measured)} == MEASURED
    [setting] = [one for one in SETTINGS if one.key == "learning.languages"]
    assert set(setting.default({})) == MEASURED
    assert set(LEARNING_LANGUAGES) == EVERY


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Retiens que les clés d'API sont dans Vault.", Category.FACT),
        ("Retiens que il faut toujours utiliser pnpm ici.", Category.DIRECTIVE),
        ("Désormais, écris les messages de commit en anglais.", Category.DIRECTIVE),
        ("On utilise toujours UTC dans la base de données.", Category.CONVENTION),
        ("Et réponds-moi toujours en anglais, même si j'écris en français.", Category.DIRECTIVE),
        ("Ne me réponds jamais en français.", Category.DIRECTIVE),
    ],
)
def test_category_follows_the_form(text: str, category: Category) -> None:
    [found] = extract(text)
    assert found.category is category


ORDERS = {
    "de": [
        "merk dir bitte, dass {}",
        "Merk dir: {}",
        "Merk dir das bitte: {}",
        "Bitte, merk dir, dass {}",
        "Merken Sie sich bitte, dass {}",
        "denk bitte daran, dass {}",
        "Denk bitte immer dran: {}",
        "Vergiss bitte nicht, dass {}",
        "Notiere dir bitte: {}",
        "Behalte bitte im Kopf, dass {}",
    ],
    "fr": [
        "Retiens, s'il te plaît, que {}",
        "Retiens bien stp : {}",
        "Retiens ceci : {}",
        "S'il vous plaît, retenez que {}",
        "N'oublie pas, s’il te plaît, que {}",
        "N'oubliez jamais que {}",
        "Garde bien en tête que {}",
        "Veuillez retenir que {}",
    ],
    "es": [
        "Recuerda, por favor, que {}",
        "Recuerda por favor: {}",
        "Recuerda esto: {}",
        "Recuerde que {}",
        "No olvides nunca que {}",
        "Acuérdate, por favor, de que {}",
    ],
    "pt": [
        "Lembre-se, por favor, de que {}",
        "Lembre-se por favor: {}",
        "Lembre-se disto: {}",
        "Não esqueça, por favor, que {}",
        "Não se esqueça nunca de que {}",
    ],
    "zh": ["请你记住，{}", "请务必记住：{}", "麻烦记住：{}", "请帮我记住，{}", "记住这一点：{}", "千万别忘了，{}"],
    "ja": ["{}と必ず覚えておいてくださいね。", "{}ことを忘れないようにしてください。", "覚えておいてください：{}"],
}
SAID = {
    "de": "die Schlüssel liegen in Vault.",
    "fr": "les clés sont dans Vault.",
    "es": "la API corre en el puerto 8080.",
    "pt": "a API roda na porta 8080.",
    "zh": "我们使用 pnpm。",
    "ja": "本番のデータベースはPostgresだ",
}


@pytest.mark.parametrize(("code", "order"), [(code, order) for code, orders in ORDERS.items() for order in orders])
def test_polite_order_to_remember_states_only_what_is_to_be_remembered(code: str, order: str) -> None:
    [found] = extract(order.format(SAID[code]))
    assert found.content == SAID[code]
    assert found.rule == "ordered to remember"


ASKED = {
    "de": [
        "Kannst du dir merken, dass {}",
        "Könntest du dir bitte merken, dass {}",
        "Würden Sie sich bitte notieren, dass {}",
        "Kannst du bitte daran denken, dass {}",
    ],
    "fr": ["Peux-tu retenir que {}", "Pourriez-vous, s'il vous plaît, noter que {}", "Tu peux garder en tête que {}"],
    "es": ["¿Puedes recordar que {}", "Podrías, por favor, anotar que {}"],
    "pt": ["Você pode lembrar que {}", "Poderia memorizar, por favor, que {}"],
    "zh": ["你能记住：{}", "能不能记住，{}"],
    "ja": ["{}ことを覚えておいてもらえますか", "{}と覚えておいてくれますか"],
}


@pytest.mark.parametrize(("code", "order"), [(code, order) for code, orders in ASKED.items() for order in orders])
@pytest.mark.parametrize("end", ["?", " ？", ""])
def test_order_to_remember_in_the_form_of_a_question_is_learned(code: str, order: str, end: str) -> None:
    said = SAID[code].rstrip(".。")
    [found] = extract(f"{order.format(said)}{end}")
    assert (found.content, found.rule) == (said, "ordered to remember")


@pytest.mark.parametrize(
    "question",
    [
        "Kannst du dich erinnern, dass die Schlüssel in Vault liegen?",
        "Kannst du dir merken, dass wir darüber gesprochen haben?",
        "Erinnerst du dich, dass die Schlüssel in Vault liegen?",
        "Kannst du dir merken, wo die Schlüssel liegen?",
        "Kannst du dir merken, dass der Server heute nicht läuft?",
        "Peux-tu te rappeler que nous avons parlé de Vault ?",
        "Tu te souviens que les clés sont dans Vault ?",
        "Peux-tu retenir ce que nous avons dit ?",
        "¿Recuerdas que la API corre en el puerto 8080?",
        "¿Puedes recordar que hablamos de la API?",
        "Você se lembra de que a API roda na porta 8080?",
        "Você pode lembrar que falamos da API?",
        "你还记得我们使用 pnpm 吗？",
        "你能记住我们说了什么吗？",
        "本番のデータベースはPostgresだと覚えていますか？",
        "你能记住上面的内容吗？",
        "能记住之前的对话吗？",
        "你能记住我们的对话吗？",
        "さっきのエラーを覚えておいてもらえますか？",
        "このエラーを覚えておいてくれますか？",
        "Vous pouvez noter que les clés sont dans Vault.",
    ],
)
def test_question_for_what_the_agent_remembers_states_nothing(question: str) -> None:
    assert recognise(question)
    assert extract(question) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Denk bitte daran, die Tests auszuführen.",
        "Merk dir bitte, wo die Datei liegt.",
        "Merk dir bitte, dass der Server heute nicht läuft.",
        "Wir merken, dass die Tests langsam sind.",
        "N'oublie pas de lancer les tests.",
        "Retiens que pour l'instant les clés sont dans Vault.",
        "Recuerda ejecutar las pruebas.",
        "Lembra que a gente falou disso na semana passada.",
        "请记住密码了吗？",
    ],
)
def test_task_and_passing_remark_in_words_of_memory_state_nothing(text: str) -> None:
    assert recognise(text)
    assert extract(text) == ()


def test_sentences_of_chinese_need_no_blank_between_them() -> None:
    [found] = extract("这个问题还是没有解决。以后所有提交信息都用英文写。今天先这样吧。")
    assert found.content == "以后所有提交信息都用英文写。"


def test_introductory_words_are_left_out_of_the_statement() -> None:
    [found] = extract("Ok, parfait. Non, utilise toujours pnpm au lieu de npm.")
    assert found.content == "utilise toujours pnpm au lieu de npm."


def test_statement_said_twice_in_a_message_is_found_once() -> None:
    assert len(extract("Verwende immer pnpm statt npm.\nVerwende immer pnpm statt npm.")) == 1


def test_message_of_words_that_two_languages_share_is_in_no_language() -> None:
    assert recognise("de la") is None
    assert recognise("") is None
    assert recognise("pnpm install --frozen-lockfile") is None


REMARKS = [
    ("fr", "Non, oublie ça."),
    ("fr", "En fait non"),
    ("de", "Nein, vergiss das wieder."),
    ("es", "No, olvídalo."),
    ("pt", "Não, esquece isso!"),
    ("zh", "算了。"),
    ("ja", "やっぱりなしで。"),
]


@pytest.mark.parametrize(("code", "remark"), REMARKS)
def test_remark_takes_back_the_statement_before_it(code: str, remark: str) -> None:
    text = sentences(code, lasting=True)[1]
    assert extract(text)
    assert extract(f"{text}\n{remark}") == ()
    assert is_retraction(remark)


@pytest.mark.parametrize("code", CODES)
def test_other_sentences_take_nothing_back(code: str) -> None:
    texts = (*sentences(code, lasting=True), *sentences(code, lasting=False))
    assert [text for text in texts if is_retraction(text)] == []


EVERYWHERE = [
    ("de", "In allen meinen Projekten verwende immer pnpm statt npm."),
    ("de", "Merk dir für alle meine Projekte: Antworten werden kurz gehalten."),
    ("de", "In jedem meiner Projekte: verwende immer pnpm statt npm."),
    ("de", "In allen Projekten von mir, verwende immer pnpm statt npm."),
    ("fr", "Dans tous mes projets, utilise toujours pnpm au lieu de npm."),
    ("fr", "Dans chacun de nos projets : utilise toujours pnpm au lieu de npm."),
    ("es", "En todos mis proyectos usa siempre pnpm en vez de npm."),
    ("es", "En cada uno de mis proyectos usa siempre pnpm en vez de npm."),
    ("pt", "Em cada um dos meus projetos use sempre pnpm em vez de npm."),
    ("pt", "Em todos os meus projetos use sempre pnpm em vez de npm."),
    ("zh", "在我所有的项目里，始终使用 pnpm 而不是 npm。"),
    ("zh", "在我的每一个项目里，始终使用 pnpm 而不是 npm。"),
    ("ja", "私の各プロジェクトで常に pnpm を使ってください。"),
    ("ja", "私のすべてのプロジェクトで常に pnpm を使ってください。"),
]


@pytest.mark.parametrize(("code", "said"), EVERYWHERE)
def test_statement_for_all_projects_is_global(code: str, said: str) -> None:
    [found] = extract(said)
    assert found.is_global


@pytest.mark.parametrize(
    "said",
    [
        "请记住：我们所有的项目文件都使用 UTF-8 编码。",
        "うちの全てのプロジェクトファイルは常に UTF-8 を使ってください。",
    ],
)
def test_statement_for_all_files_of_a_project_is_not_global(said: str) -> None:
    assert not any(one.is_global for one in extract(said))


@pytest.mark.parametrize("code", CODES)
def test_other_statements_are_of_the_project(code: str) -> None:
    found = [one for text in sentences(code, lasting=True) for one in extract(text)]
    assert found
    assert not any(one.is_global for one in found)
