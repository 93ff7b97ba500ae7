// Plugin of opencode-memory for OpenCode. It forwards events to the server and applies the server's
// answers. All decisions are the server's, except the read-only shell (agents.ts).
//
// A session never fails because memory is down: every hook catches its errors and has a deadline.
// Without the server, the hooks do nothing. Only the read-only shell and the guard of loops throw on
// purpose, because that is how OpenCode lets a plugin veto a command.

import type { Hooks, PluginInput } from "@opencode-ai/plugin"
import { type Agents, mergePermissions, readOnlyShell } from "./opencode-memory/agents"
import { Bridge } from "./opencode-memory/bridge"
import { createInjection } from "./opencode-memory/injection"
import { createLoops } from "./opencode-memory/loops"
import {
  authorization,
  type Manifest,
  type Params,
  readManifest,
  startServer,
} from "./opencode-memory/manifest"

const TOOL_MS = 30_000
// A command may take this many times the deadline of a hook, because the user waits for its result.
const COMMAND_DEADLINES = 10

function createTools(manifest: Manifest, bridge: Bridge) {
  const tools = Object.entries(manifest.tool).map(([name, { description, args }]) => {
    const execute = async (
      given: Params,
      { sessionID, messageID, agent }: Params,
    ): Promise<string> => {
      const params = { sessionID, messageID, agent, tool: name, arguments: given }
      const answer = await bridge.call("tool", params, TOOL_MS)
      if (!answer) {
        throw new Error("opencode-memory did not answer; the call may or may not have taken effect")
      }
      if (answer.is_error) throw new Error(String(answer.text))
      return String(answer.text)
    }
    return [name, { description, args: args.properties ?? {}, execute }]
  })
  return Object.fromEntries(tools) as NonNullable<Hooks["tool"]>
}

// Adds our agents, commands and MCP server to OpenCode's configuration. The user's own entries of
// the same names are never replaced. `added` receives the agents that are ours. An MCP server that
// does not run yet is added as disabled. OpenCode would wait for one that hangs, and the tools of one
// that comes late would change the prompt in the middle of a turn. So our server connects it later.
// Returns whether it was left out like this.
function configure(manifest: Manifest, config: Params, added: Agents, isRunning: boolean): boolean {
  const section = (key: string) => {
    if (typeof config[key] !== "object" || config[key] === null) config[key] = {}
    return config[key] as Params
  }
  const agents = section("agent") as Agents
  const commands = section("command") as Manifest["command"]
  const servers = section("mcp")
  for (const [name, agent] of Object.entries({ ...manifest.agent, ...manifest.hidden_agent })) {
    agents[name] ??= mergePermissions(agent, config.permission)
    if (agents[name].prompt === agent.prompt) added[name] = agents[name]
  }
  for (const [name, command] of Object.entries(manifest.command)) {
    commands[name] ??= command
    // A command that the user defined is not sent to the server.
    if (commands[name].template !== command.template) delete manifest.command[name]
  }
  const mcp = manifest.mcp
  if (!mcp || mcp.name in servers) return false
  if (Object.values(servers).some((server) => isOurs(manifest, server))) return false
  servers[mcp.name] = { ...mcp.config, headers: authorization(manifest), enabled: isRunning }
  return !isRunning
}

// The user may have configured our server by hand, by its URL or by the command that starts it.
function isOurs(manifest: Manifest, server: unknown): boolean {
  const { url, command } = (server ?? {}) as { url?: unknown; command?: unknown }
  const address = new RegExp(`^https?://[^/]+:${new URL(manifest.url).port}/mcp`)
  return address.test(`${url}`) || JSON.stringify(command ?? "").includes("opencode-memory")
}

// Swallow errors of a hook. Otherwise OpenCode would end the turn.
async function attempt(body: () => Promise<void> | void): Promise<void> {
  try {
    await body()
  } catch {}
}

function guarded<I, O>(body: (input: I, output: O) => Promise<void> | void) {
  return (input: I, output: O): Promise<void> => attempt(() => body(input, output))
}

async function server(input: PluginInput): Promise<Hooks> {
  const manifest = readManifest(import.meta.url)
  if (!manifest) return {}
  const bridge = new Bridge(manifest, input)
  const injection = createInjection(bridge)
  const loops = createLoops(manifest, bridge, input)
  const mcp = { isLeftOut: false, isSettled: !manifest.mcp }
  const readers: Agents = {}
  const shell = readOnlyShell(readers, input.directory)
  const wire = async (config: Params) => {
    const listed = config.instructions
    injection.instructions.splice(0, Infinity, ...(Array.isArray(listed) ? listed : []))
    await bridge.whenReady()
    loops.useShell(config)
    mcp.isLeftOut = configure(manifest, config, readers, bridge.hasAnswered)
  }
  return {
    config: (config) => attempt(() => wire(config as Params)),
    event: ({ event }) => attempt(() => bridge.forward(event)),
    dispose: () => attempt(() => bridge.close()),
    tool: createTools(manifest, bridge),
    "chat.message": guarded(async ({ sessionID }) => {
      // Tools may change between two turns only. Without a connection they stay as they are.
      if (mcp.isSettled || !bridge.isReady) return
      const params = { sessionID, left_out: mcp.isLeftOut }
      const answer = await bridge.call("turn", params, bridge.patience(sessionID))
      mcp.isSettled = answer?.settled === true
    }),
    "tool.definition": guarded((asked, output) => {
      // OpenCode marks every argument as required if a tool is not declared with zod.
      const tool = manifest.tool[asked.toolID]
      if (tool) Object.assign(output, { jsonSchema: tool.args })
    }),
    "chat.params": guarded((asked, output) => {
      // OpenCode requests the summary now. If there were no messages to transform, the session is
      // still marked as compacting, and its next message would get no block.
      if (asked.agent === "compaction") injection.compacting.delete(asked.sessionID)
      return shell["chat.params"](asked, output)
    }),
    "tool.execute.before": async (asked, output) => {
      await shell["tool.execute.before"](asked, output)
      await loops.guard(asked, output.args)
    },
    "shell.env": loops.env,
    "experimental.chat.messages.transform": guarded((_, output) =>
      injection.transform(output.messages),
    ),
    "experimental.chat.system.transform": guarded((_, { system }) => {
      // OpenCode appends the project's instructions to the prompt of every agent. The digest needs
      // only its own.
      const agents = Object.values(manifest.hidden_agent ?? {})
      const own = agents.find(({ prompt }) => system[0]?.startsWith(prompt))
      if (own) system.splice(0, system.length, own.prompt)
    }),
    "experimental.session.compacting": guarded(async ({ sessionID }, output) => {
      injection.compacting.add(sessionID)
      const answer = await bridge.call("compacting", { sessionID })
      const context = (answer?.context ?? []) as string[]
      // OpenCode ignores the context if there is a prompt. So append the context to the prompt.
      if (output.prompt) output.prompt = [output.prompt, ...context].join("\n\n")
      else if (typeof answer?.prompt === "string") output.prompt = answer.prompt
      else output.context.push(...context)
    }),
    "command.execute.before": guarded(async ({ command, sessionID, arguments: given }, output) => {
      if (!(command in manifest.command)) return
      const params = { sessionID, command, arguments: given }
      const answer = await bridge.call("command", params, bridge.deadline * COMMAND_DEADLINES)
      const render = (template: string) =>
        typeof answer?.text === "string" ? answer.text : `${template}\n${given}`
      const part = output.parts.find((part) => part.type === "text" || part.type === "subtask")
      if (part?.type === "subtask") {
        part.prompt = render(part.prompt)
      } else if (part?.type === "text") {
        // Drop the other parts: OpenCode attaches files that the arguments name, for example
        // `@notes.txt`, but here they are part of the memory's text.
        // What was typed stays the user's message, and the text for the model is hidden.
        const hidden = { ...part, text: render(part.text), synthetic: answer !== undefined }
        const typed = answer?.typed ? [{ ...part, text: String(answer.typed) }] : []
        output.parts.splice(0, output.parts.length, ...typed, hidden)
      }
    }),
  }
}

// Entry point of OpenCode 2; OpenCode 1 calls it, too. In OpenCode 2 memory works through the MCP
// server alone, which has to be running.
function setup(host: { session?: { hook?: unknown } } | undefined): void {
  if (typeof host?.session?.hook !== "function") return
  const manifest = readManifest(import.meta.url)
  if (manifest) startServer(manifest)
}

export default { id: "opencode-memory", server, setup }
