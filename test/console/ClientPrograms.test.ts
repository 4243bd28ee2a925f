import { execFileSync } from "node:child_process"
import { expect, it } from "vitest"
import { settingsOf } from "../../apps/console/src/ui/ClientPrograms.ts"

it("a setting for a shell passes the name of the model unchanged", () => {
  for (const model of ["demo-1", "org/model:free", "it's$HOME;`id`&<x>"]) {
    const target = { origin: "http://127.0.0.1:1", key: "tg_x", model }
    const shell = (command: string) => execFileSync("sh", ["-c", command], { encoding: "utf8" })
    const claude = settingsOf("claudeCode", target).map(({ text }) => text)
    expect(shell(`${claude.join("\n")}\nprintf %s "$ANTHROPIC_MODEL"`)).toBe(model)
    const [curl] = settingsOf("curl", target)
    const body = shell(`curl() { for last; do :; done; printf %s "$last"; }\n${curl?.text}`)
    expect((JSON.parse(body) as { readonly model: string }).model).toBe(model)
  }
})
