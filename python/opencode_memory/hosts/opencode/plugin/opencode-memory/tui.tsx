/** @jsxImportSource @opentui/solid */
// Our part of OpenCode's terminal: blocks in the sidebar, dialogs, and commands in the palette.
//
// OpenCode's binary holds solid-js and @opentui/solid, so nothing is installed. The server says what is
// shown. Without it the blocks disappear. An error in one part leaves the others.

import { createLoops } from "./tui-loops"
import { createMemory } from "./tui-memory"
import { connect } from "./tui-server"

const ACTIVE_MS = 2_000
const IDLE_MS = 5_000

function attempt(body) {
  try {
    return body()
  } catch {
    return undefined
  }
}

async function tui(api) {
  const ask = connect(api)
  if (!ask) return

  function select(title, options, onSelect) {
    api.ui.dialog.replace(() => (
      <api.ui.DialogSelect
        title={title}
        options={options}
        onSelect={(option) => attempt(() => onSelect(option.value))}
      />
    ))
    api.ui.dialog.setSize("large")
  }

  const memory = attempt(() => createMemory(api, ask, select))
  const loops = attempt(() => createLoops(api, ask, select))

  let timer: ReturnType<typeof setTimeout> | undefined
  async function poll() {
    await Promise.allSettled([memory?.refresh(), loops?.refresh()])
    timer = setTimeout(poll, loops?.isActive() ? ACTIVE_MS : IDLE_MS)
    timer.unref?.()
  }
  api.lifecycle.onDispose(() => clearTimeout(timer))
  void poll()

  api.slots.register({
    order: 60,
    slots: {
      sidebar_content(context) {
        const theme = context.theme.current
        return (
          <box>
            {attempt(() => memory?.sidebar(theme))}
            {attempt(() => loops?.sidebar(theme))}
          </box>
        )
      },
    },
  })
  const commands = [...(memory?.commands ?? []), ...(loops?.commands ?? [])]
  const common = { category: "Memory", namespace: "palette" }
  api.keymap.registerLayer({
    commands: commands.map((command) => ({ ...common, ...command })),
    bindings: [],
  })
}

export default { id: "opencode-memory-tui", tui }
