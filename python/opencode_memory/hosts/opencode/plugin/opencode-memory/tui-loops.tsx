/** @jsxImportSource @opentui/solid */
// Loops and plans in OpenCode's terminal: a block in the sidebar, dialogs, and commands in the palette.

import { createSignal, For, Show } from "solid-js"
import { act } from "./tui-server"

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

export function createLoops(api, ask, select) {
  const [loops, setLoops] = createSignal([])
  const [plans, setPlans] = createSignal([])

  async function refresh() {
    try {
      const found = await ask("/loops", "GET")
      setLoops(found.loops ?? [])
      setPlans(found.plans ?? [])
    } catch {
      setLoops([])
      setPlans([])
    }
  }

  const isActive = () => loops().some((loop) => loop.state === "running")

  async function choose(body) {
    await act(api, ask, "/loops", body)
    await refresh()
  }

  const colour = (loop) => {
    const theme = api.theme.current
    if (loop.state === "running") return theme.info
    if (loop.state === "completed") return theme.success
    return loop.state === "cancelled" ? theme.textMuted : theme.warning
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
      ...(loop.todo ? [{ title: "Now", value: "", description: loop.todo }] : []),
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
      } else if (value) void choose({ loop: loop.id, action: value })
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

  async function showPlan(plan) {
    let text = "opencode-memory does not answer"
    try {
      const found = await ask("/loops", "GET", undefined, { plan: plan.id })
      text = String(found.text ?? found.error ?? text)
    } catch {}
    const lines = text
      .split("\n")
      .map((line) => ({ title: line || " ", value: "", category: "Text" }))
    const back = { title: "Back", value: "back", category: "Actions" }
    select(`Plan: ${shorten(plan.title)}`, [back, ...lines], (value) => {
      if (value === "back") approve(plan)
    })
  }

  function approve(plan) {
    const options = [
      ...MODES,
      { value: "show", title: "Show", description: "its whole text" },
      { value: "remark", title: "Send back with a remark", description: "" },
    ]
    select(`Plan: ${shorten(plan.title)}`, options, (value) => {
      if (value === "show") return void showPlan(plan)
      if (value !== "remark") return void choose({ plan: plan.id, action: "approve", mode: value })
      api.ui.dialog.replace(() => (
        <api.ui.DialogPrompt
          title="What should change?"
          onConfirm={(remark) => void choose({ plan: plan.id, action: "send-back", remark })}
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

  const current = () => loops().filter((loop) => loop.in_sidebar)

  const sidebar = (theme) => (
    <Show when={current().length + plans().length > 0}>
      <box>
        <text fg={theme.text}>
          <b>Loops</b>
        </text>
        <For each={current()}>
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

  // A dialog keeps the options that it was opened with, so they are read before.
  const fresh = (open) => () => void refresh().then(open)
  const commands = [
    {
      name: "memory.loops",
      title: "Memory: Show loops",
      slashName: "loops",
      run: fresh(listLoops),
    },
    {
      name: "memory.plans",
      title: "Memory: Show plans",
      slashName: "plans",
      run: fresh(listPlans),
    },
  ]
  return { refresh, isActive, sidebar, commands }
}
