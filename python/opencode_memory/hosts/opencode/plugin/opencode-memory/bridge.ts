// The connection to the server: JSON-RPC 2.0 over a WebSocket, which is lost and found again without anybody waiting for it.

import type { PluginInput } from "@opencode-ai/plugin"
import { authorization, type Manifest, type Params, start } from "./manifest"
import { request as ask, toast } from "./opencode"

type Answer = Params | undefined

const FLUSH_MS = 50
const DISPOSE_MS = 900
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000
const MOST_QUEUED = 1_000
const MOST_UNSENT_BYTES = 16_000_000

export class Bridge {
  private socket: WebSocket | undefined
  private isReady = false
  private isClosed = false
  private pause = FIRST_PAUSE_MS
  private timer: ReturnType<typeof setTimeout> | undefined
  private number = 0
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private events: unknown[] = []
  private told: [string, Params][] = []
  private types = new Set<string>()
  deadline: number

  constructor(
    private readonly manifest: Manifest,
    private readonly input: PluginInput,
  ) {
    this.deadline = manifest.deadline_ms
    this.connect()
  }

  // Ask the server; undefined when it is not there or not quick enough.
  call(method: string, params: Params, ms = this.deadline): Promise<Answer> {
    if (!this.isReady) return Promise.resolve(undefined)
    this.flush()
    return this.request(method, params, ms)
  }

  // Tell the server, now or when it is back.
  tell(method: string, params: Params): void {
    if (this.told.push([method, params]) > MOST_QUEUED) this.told.shift()
    this.flush()
  }

  forward(event: { type: string; properties?: unknown }): void {
    if (!this.types.has(event.type)) return
    // Half of a message must never be taken for all of it: what is too much goes altogether, and the connection with it.
    if (this.events.push({ type: event.type, properties: event.properties }) > MOST_QUEUED) {
      this.events = []
      if (this.isReady) this.socket?.close()
    }
    if (this.isReady) this.timer ??= setTimeout(() => this.flush(), FLUSH_MS)
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    if (this.isReady) await this.call("flush", {}, DISPOSE_MS)
    this.socket?.close()
  }

  private connect(): void {
    this.timer = undefined
    if (this.isClosed) return
    // Headers are Bun's own; the type knows browsers only.
    const options = { headers: authorization(this.manifest) } as unknown as string[]
    const socket = new WebSocket(`${this.manifest.url.replace(/^http/, "ws")}/bridge`, options)
    this.socket = socket
    socket.onopen = () => void this.greet(socket).catch(() => socket.close())
    socket.onmessage = (message) => this.take(socket, String(message.data))
    socket.onclose = () => this.lost()
  }

  private lost(): void {
    for (const id of this.waiting.keys()) this.settle(id, undefined)
    if (this.isClosed) return
    if (!this.isReady) start(this.manifest)
    this.isReady = false
    this.timer = setTimeout(() => this.connect(), this.pause)
    this.timer.unref?.()
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS)
  }

  private async greet(socket: WebSocket): Promise<void> {
    const { version, protocol } = this.manifest
    const params = { protocol, version, directory: this.input.directory, pid: process.pid }
    const answer = await this.request("hello", params, 5_000)
    if (!answer) return socket.close()
    if (answer.refused) {
      this.isClosed = true
      socket.close()
      return toast(this.input, { message: String(answer.notice), variant: "warning" })
    }
    if (Array.isArray(answer.events)) this.types = new Set(answer.events)
    this.deadline = Number(answer.deadline_ms) || this.deadline
    this.pause = FIRST_PAUSE_MS
    this.isReady = true
    this.flush()
  }

  private request(method: string, params: Params, ms: number): Promise<Answer> {
    const id = ++this.number
    const answer = new Promise<Answer>((resolve) => this.waiting.set(id, resolve))
    const late = setTimeout(() => this.settle(id, undefined), ms)
    this.send({ id, method, params })
    return answer.finally(() => clearTimeout(late))
  }

  private settle(id: number, answer: Answer): void {
    this.waiting.get(id)?.(answer)
    this.waiting.delete(id)
  }

  private take(socket: WebSocket, text: string): void {
    let message: Params = {}
    try {
      message = { ...JSON.parse(text) }
    } catch {}
    if (typeof message.method === "string") {
      const answer = (rest: object) => this.socket === socket && this.send({ id: message.id, ...rest })
      const params = (message.params ?? {}) as Params
      this.serve(message.method, params).then(
        (result) => answer({ result }),
        (error) => answer({ error: { code: -32000, message: String(error) } }),
      )
      return
    }
    this.settle(message.id as number, (message.error ? undefined : (message.result ?? undefined)) as Answer)
  }

  private async serve(method: string, params: Params): Promise<unknown> {
    if (method === "oc.request") return await ask(this.input, params)
    if (method === "oc.subscribe") this.types = new Set(params.types as string[])
    else if (method === "toast") await toast(this.input, params)
    else throw new Error(`there is no method ${method}`)
    return {}
  }

  private flush(): void {
    if (!this.isReady) return
    clearTimeout(this.timer)
    this.timer = undefined
    if ((this.socket?.bufferedAmount ?? 0) > MOST_UNSENT_BYTES) return
    for (const [method, params] of this.told.splice(0)) this.send({ method, params })
    const params = { directory: this.input.directory, events: this.events.splice(0) }
    if (params.events.length > 0) this.send({ method: "events", params })
  }

  private send(message: object): void {
    // Pictures and documents teach nothing, and would hold up what is asked after them.
    const lean = (key: string, value: unknown) => (key === "url" && `${value}`.startsWith("data:") ? "data:" : value)
    this.socket?.send(JSON.stringify({ jsonrpc: "2.0", ...message }, lean))
  }
}
