// opencode-memory inside OpenCode. It forwards what happens and applies what comes back; what that is, the server decides.
//
// A session never breaks or waits because memory is down: every hook catches what it does and has a deadline, and without
// the server each of them does nothing. Only what keeps an agent from writing is decided here, and throws on purpose.

import type { Hooks, PluginInput } from "@opencode-ai/plugin"
import { type Agents, keepingTheirs, readingShell } from "./opencode-memory/agents"
import { Bridge } from "./opencode-memory/bridge"
import { injection } from "./opencode-memory/injection"
import { authorization, hangs, type Manifest, type Params, readManifest, start } from "./opencode-memory/manifest"

const TOOL_MS = 30_000
const COMMAND_DEADLINES = 10

function tools(manifest: Manifest, bridge: Bridge) {
  const made = Object.entries(manifest.tool).map(([name, { description, args }]) => {
    const execute = async (given: Params, { sessionID, messageID, agent }: Params): Promise<string> => {
      const params = { sessionID, messageID, agent, tool: name, arguments: given }
      const answer = await bridge.call("tool", params, TOOL_MS)
      if (!answer) throw new Error("opencode-memory does not answer, so nothing is known of what came of this")
      if (answer.is_error) throw new Error(String(answer.text))
      return String(answer.text)
    }
    return [name, { description, args: args.properties ?? {}, execute }]
  })
  return Object.fromEntries(made) as NonNullable<Hooks["tool"]>
}

// What the user has is never replaced; `added` gets our agents.
async function configure(manifest: Manifest, config: Params, added: Agents): Promise<void> {
  const own = (key: string) => {
    if (typeof config[key] !== "object" || config[key] === null) config[key] = {}
    return config[key] as Params
  }
  const [agents, commands, servers] = [own("agent") as Agents, own("command") as Manifest["command"], own("mcp")]
  for (const [name, agent] of Object.entries(manifest.agent)) {
    agents[name] ??= keepingTheirs(agent, config.permission)
    if (agents[name].prompt === agent.prompt) added[name] = agents[name]
  }
  for (const [name, command] of Object.entries(manifest.command)) {
    commands[name] ??= command
    if (commands[name].template !== command.template) delete manifest.command[name]
  }
  if (manifest.mcp && !Object.values(servers).some((server) => isOurs(manifest, server))) {
    // OpenCode waits for each server that hangs, and for one that is not there not at all.
    const patience = (await hangs(manifest)) ? { timeout: 1_000 } : {}
    servers[manifest.mcp.name] ??= { ...manifest.mcp.config, headers: authorization(manifest), ...patience }
  }
}

// The user may have added the server by hand, by its address or by the command that starts one.
function isOurs(manifest: Manifest, server: unknown): boolean {
  const { url, command } = (server ?? {}) as { url?: unknown; command?: unknown }
  const address = new RegExp(`^https?://[^/]+:${new URL(manifest.url).port}/mcp`)
  return address.test(`${url}`) || JSON.stringify(command ?? "").includes("opencode-memory")
}

// Whatever goes wrong in a hook stays there: OpenCode would end the turn. Without memory the session goes on.
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
  const beside = injection(bridge)
  const readers: Agents = {}
  const reading = readingShell(readers, input.directory)
  return {
    config: (config) => attempt(() => configure(manifest, config as Params, readers)),
    event: ({ event }) => attempt(() => bridge.forward(event)),
    dispose: () => attempt(() => bridge.close()),
    tool: tools(manifest, bridge),
    "tool.definition": guarded((asked, output) => {
      // OpenCode takes every argument of a tool without zod for one that is required.
      const known = manifest.tool[asked.toolID]
      if (known) Object.assign(output, { jsonSchema: known.args })
    }),
    "chat.params": guarded((asked, output) => {
      // The summary is asked for; there may have been nothing to transform before.
      if (asked.agent === "compaction") beside.compacting.delete(asked.sessionID)
      return reading["chat.params"](asked, output)
    }),
    "tool.execute.before": reading["tool.execute.before"],
    "experimental.chat.messages.transform": guarded((_, output) => beside.transform(output.messages)),
    "experimental.session.compacting": guarded(async ({ sessionID }, output) => {
      beside.compacting.add(sessionID)
      const answer = await bridge.call("compacting", { sessionID })
      const context = (answer?.context ?? []) as string[]
      // A prompt keeps what stands beside it out, so both become one.
      if (output.prompt) output.prompt = [output.prompt, ...context].join("\n\n")
      else if (typeof answer?.prompt === "string") output.prompt = answer.prompt
      else output.context.push(...context)
    }),
    "command.execute.before": guarded(async ({ command, sessionID, arguments: given }, output) => {
      if (!(command in manifest.command)) return
      const params = { sessionID, command, arguments: given }
      const answer = await bridge.call("command", params, bridge.deadline * COMMAND_DEADLINES)
      const said = (template: string) => (typeof answer?.text === "string" ? answer.text : `${template}\n${given}`)
      const part = output.parts.find((one) => one.type === "text" || one.type === "subtask")
      if (part?.type === "subtask") part.prompt = said(part.prompt)
      // Files that were named to the memory are no files for the model.
      else if (part?.type === "text") output.parts.splice(0, output.parts.length, { ...part, text: said(part.text) })
    }),
  }
}

// The shape of OpenCode 2, which OpenCode 1 calls as well. There the MCP server is what works; it has to be running.
function setup(host: { session?: { hook?: unknown } } | undefined): void {
  if (typeof host?.session?.hook !== "function") return
  const manifest = readManifest(import.meta.url)
  if (manifest) start(manifest)
}

export default { id: "opencode-memory", server, setup }
