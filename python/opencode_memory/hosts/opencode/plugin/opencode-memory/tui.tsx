/** @jsxImportSource @opentui/solid */
// Loops and plans in OpenCode's terminal: a block in the sidebar, dialogs, and commands in the palette.
//
// OpenCode's binary holds solid-js and @opentui/solid, so nothing is installed. The server says what is
// shown. Without it the block disappears.

import { readFileSync } from "node:fs"
import { createSignal, For, Show } from "solid-js"

const ACTIVE_MS = 2_000
const IDLE_MS = 10_000
const ANSWER_MS = 1_500
const NAME_WIDTH = 25
const MODES = [
  { value: "new", title: "New session", description: "a coding agent starts afresh" },
  { value: "here", title: "Execute here", description: "in the session that wrote the plan" },
  {
    value: "loop",
    title: "Loop (worktree)",
    description: "code, check and audit on a branch of its own",
  },
  {
    value: "loop-here",
    title: "Loop here",
    description: "the same in this folder, without commits",
  },
]

function shorten(name) {
  if (name.length <= NAME_WIDTH) return name
  const half = Math.floor((NAME_WIDTH - 1) / 2)
  return `${name.slice(0, half)}…${name.slice(-half)}`
}

function readManifest() {
  try {
    return JSON.parse(readFileSync(new URL("../opencode-memory.json", import.meta.url), "utf8"))
  } catch {
    return undefined
  }
}

async function tui(api) {
  const manifest = readManifest()
  if (!manifest) return
  const [loops, setLoops] = createSignal([])
  const [plans, setPlans] = createSignal([])
  const directory = () => api.state.path.directory

  async function ask(method, body) {
    const token = readFileSync(manifest.token_file, "utf8").trim()
    const headers = { Authorization: `Bearer ${token}`, "content-type": "application/json" }
    const url = `${manifest.url}/loops?directory=${encodeURIComponent(directory())}`
    const signal = AbortSignal.timeout(ANSWER_MS)
    const answer = await fetch(url, { method, headers, signal, body: body && JSON.stringify(body) })
    return await answer.json()
  }

  async function refresh() {
    try {
      const found = await ask("GET")
      setLoops(found.loops ?? [])
      setPlans(found.plans ?? [])
    } catch {
      setLoops([])
      setPlans([])
    }
  }

  let timer: ReturnType<typeof setTimeout> | undefined
  async function poll() {
    await refresh()
    timer = setTimeout(poll, loops().some((loop) => loop.state === "running") ? ACTIVE_MS : IDLE_MS)
    timer.unref?.()
  }
  api.lifecycle.onDispose(() => clearTimeout(timer))
  void poll()

  async function act(body) {
    let message = "opencode-memory does not answer"
    let variant = "error"
    try {
      const answer = await ask("POST", body)
      message = answer.said ?? answer.error ?? message
      variant = answer.error ? "error" : "info"
    } catch {}
    api.ui.dialog.clear()
    api.ui.toast({ variant, message })
    await refresh()
  }

  const colour = (loop) => {
    const theme = api.theme.current
    if (loop.state === "running") return theme.info
    if (loop.state === "completed") return theme.success
    return loop.state === "cancelled" ? theme.textMuted : theme.warning
  }

  function select(title, options, onSelect) {
    api.ui.dialog.replace(() => (
      <api.ui.DialogSelect
        title={title}
        options={options}
        onSelect={(option) => onSelect(option.value)}
      />
    ))
    api.ui.dialog.setSize("large")
  }

  function showLoop(loop) {
    const spent = loop.spent
    const facts = [
      { title: `Status: ${loop.phase}`, value: "", description: loop.reason },
      {
        title: `Branch: ${loop.branch ?? "none yet"}`,
        value: "",
        description: loop.worktree ?? "",
      },
      {
        title: `Tokens: ${spent.input} in, ${spent.output} out, ${spent.cached} cached`,
        value: "",
        description: `$${spent.cost.toFixed(2)}`,
      },
      { title: "Latest", value: "", description: loop.notes.at(-1) ?? "nothing yet" },
    ]
    const isOpen = !["completed", "cancelled", "failed"].includes(loop.state)
    const actions = [
      ...(loop.session ? [{ title: "Open its session", value: "open" }] : []),
      ...(loop.state === "running" ? [{ title: "Pause", value: "pause" }] : []),
      ...(isOpen && loop.state !== "running" ? [{ title: "Resume", value: "resume" }] : []),
      ...(isOpen ? [{ title: "Cancel", value: "cancel" }] : []),
      { title: "Back", value: "back" },
    ].map((action) => ({ ...action, category: "Actions" }))
    select(`Loop ${shorten(loop.name)}`, [...facts, ...actions], (value) => {
      if (value === "back") listLoops()
      else if (value === "open") {
        api.ui.dialog.clear()
        api.route.navigate("session", { sessionID: loop.session })
      } else if (value) void act({ loop: loop.id, action: value })
    })
  }

  function listLoops() {
    const options = loops().map((loop) => ({
      title: shorten(loop.name),
      value: loop,
      description: loop.phase,
    }))
    select("Loops", options, showLoop)
  }

  function approve(plan) {
    const options = [
      ...MODES,
      { value: "remark", title: "Send back with a remark", description: "" },
    ]
    select(`Plan: ${shorten(plan.title)}`, options, (value) => {
      if (value !== "remark") return void act({ plan: plan.id, action: "approve", mode: value })
      api.ui.dialog.replace(() => (
        <api.ui.DialogPrompt
          title="What should change?"
          onConfirm={(remark) => void act({ plan: plan.id, action: "send-back", remark })}
        />
      ))
    })
  }

  function listPlans() {
    const options = plans().map((plan) => ({
      title: plan.title,
      value: plan,
      description: plan.id,
    }))
    select("Plans that wait for you", options, approve)
  }

  api.slots.register({
    order: 60,
    slots: {
      sidebar_content(context) {
        const theme = context.theme.current
        return (
          <Show when={loops().length + plans().length > 0}>
            <box>
              <text fg={theme.text}>
                <b>Loops</b>
              </text>
              <For each={loops()}>
                {(loop) => (
                  // biome-ignore lint/a11y/noStaticElementInteractions: a terminal has no roles
                  <box flexDirection="row" onMouseUp={() => showLoop(loop)}>
                    <text fg={colour(loop)}>● </text>
                    <text fg={theme.textMuted}>{`${shorten(loop.name)} ${loop.phase}`}</text>
                  </box>
                )}
              </For>
              <For each={plans()}>
                {(plan) => (
                  // biome-ignore lint/a11y/noStaticElementInteractions: a terminal has no roles
                  <box onMouseUp={() => approve(plan)}>
                    <text fg={theme.warning}>{`plan waits: ${shorten(plan.title)}`}</text>
                  </box>
                )}
              </For>
            </box>
          </Show>
        )
      },
    },
  })
  api.keymap.registerLayer({
    commands: [
      {
        name: "memory.loops",
        title: "Memory: Show loops",
        category: "Memory",
        namespace: "palette",
        slashName: "loops",
        run: listLoops,
      },
      {
        name: "memory.plans",
        title: "Memory: Show plans",
        category: "Memory",
        namespace: "palette",
        slashName: "plans",
        run: listPlans,
      },
    ],
    bindings: [],
  })
}

export default { id: "opencode-memory-tui", tui }
