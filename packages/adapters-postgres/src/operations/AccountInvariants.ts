/**
 * Lists the invariants of accounts, transfers, top-ups and mints. Each invariant has a sentence, and a query that
 * counts the rows that violate the invariant.
 *
 * Some queries recompute the balances from the journals, which are the transfers and the settlements.
 */
export interface Invariant {
  readonly id: string
  readonly invariant: string
  /** SQL that returns one row with one column: the number of rows that violate the invariant. */
  readonly violations: string
}

export const accountInvariants: ReadonlyArray<Invariant> = [
  {
    id: "no-overdraft",
    invariant: "No account has a negative available balance.",
    violations: "SELECT count(*) FROM account WHERE credits_posted - debits_posted - debits_pending < 0"
  },
  {
    id: "system-not-stored",
    invariant: "System accounts store no balance; their balances are the sums of their transfers.",
    violations: `SELECT count(*) FROM account
      WHERE kind = 'system' AND (credits_posted <> 0 OR debits_posted <> 0 OR debits_pending <> 0)`
  },
  {
    id: "credits-are-journal",
    invariant: "The credits of an account equal the sum of the transfers to the account.",
    violations: `SELECT count(*) FROM account a
      LEFT JOIN (SELECT credit_account AS id, sum(amount) AS amount FROM transfer GROUP BY 1) t USING (id)
      WHERE a.kind <> 'system' AND a.credits_posted <> coalesce(t.amount, 0)`
  },
  {
    id: "debits-are-journal",
    invariant: "The debits of an account equal the sum of the transfers and settlements paid from the account.",
    violations: `WITH journal AS (
        SELECT debit_account AS id, sum(amount) AS amount FROM transfer GROUP BY 1
        UNION ALL SELECT plan_account, sum(plan_tokens) FROM settlement GROUP BY 1
        UNION ALL SELECT payg_account, sum(payg_pico) FROM settlement GROUP BY 1)
      SELECT count(*) FROM account a
      LEFT JOIN (SELECT id, sum(amount) AS amount FROM journal GROUP BY 1) j USING (id)
      WHERE a.kind <> 'system' AND a.debits_posted <> coalesce(j.amount, 0)`
  },
  {
    id: "pending-is-holds",
    invariant: "The pending amount of an account equals the sum of its open holds.",
    violations: `WITH held AS (
        SELECT plan_account AS id, sum(plan_tokens) AS amount FROM open_request GROUP BY 1
        UNION ALL SELECT payg_account, sum(payg_pico) FROM open_request GROUP BY 1)
      SELECT count(*) FROM account a
      LEFT JOIN (SELECT id, sum(amount) AS amount FROM held GROUP BY 1) h USING (id)
      WHERE a.kind <> 'system' AND a.debits_pending <> coalesce(h.amount, 0)`
  },
  {
    id: "plans-are-grants",
    invariant: "The credits of a plan equal the sum of the tokens granted to it.",
    violations: `SELECT count(*) FROM account a
      LEFT JOIN (SELECT credit_account AS id, sum(amount) AS amount FROM transfer WHERE code = 'mint_grant' GROUP BY 1) t
        USING (id)
      WHERE a.kind = 'plan' AND a.credits_posted <> coalesce(t.amount, 0)`
  },
  {
    id: "transfers-fit",
    invariant: "A transfer is in one unit, between a system account and an account of the kind that its code requires.",
    violations: `SELECT count(*) FROM transfer t
      LEFT JOIN account d ON d.id = t.debit_account LEFT JOIN account c ON c.id = t.credit_account
      WHERE (d.unit = t.unit AND c.unit = t.unit AND (d.kind = 'system') <> (c.kind = 'system')
        AND CASE t.code
          WHEN 'payg_credit' THEN d.id = '00000000-0000-0000-0000-000000000004' AND c.kind = 'payg'
          WHEN 'topup' THEN d.id = '00000000-0000-0000-0000-000000000001' AND c.kind = 'reseller_quota'
          WHEN 'quota_adjust' THEN '00000000-0000-0000-0000-000000000001' IN (d.id, c.id)
            AND 'reseller_quota' IN (d.kind, c.kind)
          WHEN 'mint_pay' THEN d.kind = 'reseller_quota' AND c.id = '00000000-0000-0000-0000-000000000002'
          WHEN 'mint_grant' THEN d.id = '00000000-0000-0000-0000-000000000003' AND c.kind = 'plan'
          WHEN 'image_charge' THEN d.kind = 'payg' AND c.id = '00000000-0000-0000-0000-000000000004'
          END) IS NOT TRUE`
  },
  {
    id: "credits-are-logged",
    invariant: "The audit log contains every credit by an operator, with its amount.",
    violations: `SELECT count(*) FROM transfer t WHERE t.code = 'payg_credit' AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.action = 'payg.credit' AND l.subject = t.credit_account::text
        AND l.detail ->> 'operation_id' = t.ref AND (l.detail ->> 'usd_micro')::numeric * 1000000 = t.amount)`
  },
  {
    id: "adjustments-are-logged",
    invariant: "The audit log contains every quota adjustment by an operator, with its reseller and amount.",
    violations: `SELECT count(*) FROM transfer t
      LEFT JOIN account a ON a.kind = 'reseller_quota' AND a.id IN (t.debit_account, t.credit_account)
      WHERE t.code = 'quota_adjust' AND NOT EXISTS (
        SELECT FROM audit_log l WHERE l.action = 'quota.adjust' AND l.subject = a.reseller_id::text
          AND l.detail ->> 'operation_id' = t.ref AND (l.detail ->> 'usd_micro')::numeric
            = CASE WHEN t.credit_account = a.id THEN t.amount ELSE -t.amount END)`
  },
  {
    id: "resellers-have-quotas",
    invariant: "Every reseller has one quota account.",
    violations: `SELECT count(*) FROM reseller r WHERE 1 <> (
      SELECT count(*) FROM account a WHERE a.kind = 'reseller_quota' AND a.reseller_id = r.id)`
  },
  {
    id: "quotas-are-earned",
    invariant:
      "The credits of a quota equal its top-ups and upward adjustments; its debits equal its mints and downward adjustments.",
    violations: `WITH moved AS (
        SELECT reseller_id, quota_usd_micro AS credits, 0 AS debits FROM topup_order WHERE status = 'credited'
        UNION ALL SELECT reseller_id, 0, price_usd_micro FROM mint
        UNION ALL SELECT a.reseller_id, CASE WHEN a.id = t.credit_account THEN t.amount ELSE 0 END,
            CASE WHEN a.id = t.debit_account THEN t.amount ELSE 0 END
          FROM transfer t JOIN account a ON a.id IN (t.debit_account, t.credit_account) AND a.kind = 'reseller_quota'
          WHERE t.code = 'quota_adjust')
      SELECT count(*) FROM account a
      LEFT JOIN (SELECT reseller_id, sum(credits) AS credits, sum(debits) AS debits FROM moved GROUP BY 1) m
        USING (reseller_id)
      WHERE a.kind = 'reseller_quota'
        AND (a.credits_posted <> coalesce(m.credits, 0) OR a.debits_posted <> coalesce(m.debits, 0))`
  },
  {
    id: "topups-are-credited-once",
    invariant:
      "Every credited order has exactly one transfer of its quota to its reseller, and every such transfer has an order.",
    violations: `SELECT count(*) FROM (SELECT * FROM topup_order WHERE status = 'credited') o
      FULL JOIN (
        SELECT t.ref, count(*) AS times, min(t.amount) AS amount, min(a.reseller_id::text) AS reseller_id
        FROM transfer t LEFT JOIN account a ON a.id = t.credit_account WHERE t.code = 'topup' GROUP BY 1) t
        ON t.ref = o.id::text
      WHERE (t.times = 1 AND t.amount = o.quota_usd_micro AND t.reseller_id = o.reseller_id::text) IS NOT TRUE`
  },
  {
    id: "mints-are-booked",
    invariant:
      "Every mint has two transfers, its price from the reseller and its tokens to the customer; every such transfer has a mint.",
    violations: `SELECT count(*) FROM mint m
      FULL JOIN (
        SELECT t.ref, t.amount, a.reseller_id FROM transfer t LEFT JOIN account a ON a.id = t.debit_account
        WHERE t.code = 'mint_pay') pay ON pay.ref = m.id::text
      FULL JOIN (
        SELECT t.ref, t.amount, a.user_id, a.model_id FROM transfer t LEFT JOIN account a ON a.id = t.credit_account
        WHERE t.code = 'mint_grant') given ON given.ref = coalesce(m.id::text, pay.ref)
      WHERE (pay.amount = m.price_usd_micro AND pay.reseller_id = m.reseller_id AND given.amount = m.granted_tokens
        AND given.user_id = m.customer_user_id AND given.model_id = m.model_id) IS NOT TRUE`
  },
  {
    id: "mints-cost-their-tier",
    // The tokens granted by a tier may change later. The price of a tier never changes.
    invariant: "The price of a mint is the price of its tier, and the tier belongs to its model.",
    violations: `SELECT count(*) FROM mint m LEFT JOIN tier t ON t.id = m.plan_tier_id AND t.model_id = m.model_id
      WHERE m.price_usd_micro IS DISTINCT FROM t.tier_usd_cents * 10000`
  },
  {
    id: "units-are-conserved",
    invariant:
      "In every unit, the net amount from system accounts equals the balances of all other accounts plus the paid usage.",
    violations: `WITH outside AS (SELECT id FROM account WHERE kind = 'system'),
      flow AS (
        SELECT unit, amount FROM transfer WHERE debit_account IN (SELECT id FROM outside)
        UNION ALL SELECT unit, -amount FROM transfer WHERE credit_account IN (SELECT id FROM outside)
        UNION ALL SELECT unit, -(credits_posted - debits_posted) FROM account WHERE kind <> 'system'
        UNION ALL SELECT 'token', -sum(plan_tokens) FROM settlement
        UNION ALL SELECT 'usd_pico', -sum(payg_pico) FROM settlement)
      SELECT count(*) FROM (SELECT unit FROM flow GROUP BY unit HAVING sum(amount) <> 0) AS unbalanced`
  }
]
