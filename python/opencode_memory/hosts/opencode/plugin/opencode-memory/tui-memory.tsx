/** @jsxImportSource @opentui/solid */
// Memories in OpenCode's terminal: a block in the sidebar, dialogs, commands in the palette, and short messages.
// The server words every line.

import { createSignal, For, Show } from "solid-js"
import { act } from "./tui-server"

const PATH = "/terminal"
const TOAST_MS = 6_000

export function createMemory(api, ask, select) {
  const [shown, setShown] = createSignal({ title: "", lines: [] })
  let since = ""

  // The session on the screen. A narrow terminal has no sidebar that could tell it.
  function session() {
    const { name, params } = api.route.current
    return name === "session" ? String(params?.sessionID ?? "") : ""
  }

  async function refresh() {
    try {
      const found = await ask(PATH, "GET", undefined, { session: session(), since })
      setShown({ title: found.title ?? "", lines: found.lines ?? [] })
      since = String(found.last ?? "")
      for (const message of found.toasts ?? []) {
        api.ui.toast({ variant: "info", message, duration: TOAST_MS })
      }
    } catch {
      setShown({ title: "", lines: [] })
    }
  }

  async function choose(body) {
    await act(api, ask, PATH, body)
    await refresh()
  }

  function prompt(title, value, onConfirm) {
    api.ui.dialog.replace(() => (
      <api.ui.DialogPrompt title={title} value={value} onConfirm={onConfirm} />
    ))
  }

  function showMemory(memory) {
    const facts = [memory.text, ...memory.facts].map((title) => ({ title, value: "" }))
    const actions = [...memory.actions, { title: "Back", value: "back" }]
    const options = actions.map((action) => ({ ...action, category: "Actions" }))
    // The server refuses the change if the memory is not what the dialog shows.
    const chosen = { memory: memory.id, version: memory.version }
    select("Memory", [...facts, ...options], (value) => {
      if (value === "back") void list({ list: "newest" }, "Memories")
      else if (value === "edit") {
        prompt("The new text", memory.text, (text) => {
          void choose({ ...chosen, action: "edit", text })
        })
      } else if (value) void choose({ ...chosen, action: value })
    })
  }

  async function list(body, title) {
    let memories = []
    try {
      memories = (await ask(PATH, "POST", body)).memories ?? []
    } catch {}
    const none = [{ title: "There is none.", value: "", description: "" }]
    const options = memories.map((memory) => ({
      title: memory.title,
      value: memory,
      description: memory.detail,
    }))
    select(title, options.length ? options : none, (memory) => memory && showMemory(memory))
  }

  const search = () =>
    prompt("Search the memory", "", (query) => void list({ list: "search", query }, query))

  const lists = {
    beside: () => list({ list: "beside", session: session() }, "Shown beside this session"),
    review: () => list({ list: "review" }, "Waits for review"),
    newest: () => list({ list: "newest" }, "Memories"),
  }

  const colour = (theme, kind) => {
    if (kind === "warning") return theme.warning
    return kind === "info" ? theme.text : theme.textMuted
  }

  const sidebar = (theme) => (
    <Show when={shown().lines.length > 0}>
      <box>
        <text fg={theme.text}>
          <b>{shown().title}</b>
        </text>
        <For each={shown().lines}>
          {(line) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: a terminal has no roles
            <box onMouseUp={() => lists[line.open]?.()}>
              <text fg={colour(theme, line.kind)}>{line.text}</text>
            </box>
          )}
        </For>
      </box>
    </Show>
  )

  const commands = [
    { name: "memory.browse", title: "Memory: Browse", slashName: "memories", run: lists.newest },
    { name: "memory.search", title: "Memory: Search", slashName: "search-memory", run: search },
    { name: "memory.beside", title: "Memory: Why is this here?", run: lists.beside },
    {
      name: "memory.review",
      title: "Memory: Review",
      slashName: "review-memory",
      run: lists.review,
    },
    { name: "memory.undo", title: "Memory: Undo", run: () => choose({ undo: true }) },
  ]
  return { refresh, sidebar, commands }
}
