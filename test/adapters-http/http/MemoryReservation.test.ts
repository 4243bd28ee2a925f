import { MemoryReservation, ReservedMemory } from "@tollgate/adapters-http/http/MemoryReservation"
import { describe, expect, it } from "vitest"

const LIMIT = 1_000

const start = () => {
  const reserved = new ReservedMemory()
  const reservationOf = (customer?: string) => {
    const reservation = new MemoryReservation(reserved, LIMIT)
    if (customer !== undefined) reservation.assignTo(customer)
    return reservation
  }
  return { reserved, reservationOf }
}

describe("the memory of a customer", () => {
  it("is at most half of the memory that others do not use", () => {
    const { reservationOf } = start()
    expect(reservationOf("a").take(400)).toBe(true)
    const second = reservationOf("a")
    expect([second.take(101), second.take(100), second.take(1)]).toEqual([false, true, false])
    const other = reservationOf("b")
    expect([other.take(251), other.take(250)]).toEqual([false, true])
    expect(reservationOf("c").take(125)).toBe(true)
  })

  it("is available to others after its release", () => {
    const { reserved, reservationOf } = start()
    const [first, other] = [reservationOf("a"), reservationOf("b")]
    first.take(500)
    first.release()
    first.release()
    expect([reserved.bytes, reserved.of("a"), first.take(1)]).toEqual([0, 0, false])
    expect(other.take(500)).toBe(true)
  })
})

describe("the memory of requests without a customer", () => {
  it("is limited only by the total limit", () => {
    const { reservationOf } = start()
    expect([reservationOf().take(LIMIT), reservationOf().take(1)]).toEqual([true, false])
  })
})
