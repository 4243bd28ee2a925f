/**
 * What must be true of the stored money, each as a sentence and the query that counts the rows against it.
 *
 * Balances are recomputed from the journals (transfers and settlements) and never the other way round.
 */
export interface Invariant {
  readonly id: string
  readonly invariant: string
  /** One row, one column: how many rows break it. */
  readonly violations: string
}

export const invariants: ReadonlyArray<Invariant> = [
  {
    id: "no-overdraft",
    invariant: "No account has less than nothing available.",
    violations: "SELECT count(*) FROM account WHERE credits_posted - debits_posted - debits_pending < 0"
  },
  {
    id: "system-not-stored",
    invariant: "The accounts outside keep no balance; theirs is the sum of the journal.",
    violations: `SELECT count(*) FROM account
      WHERE kind = 'system' AND (credits_posted <> 0 OR debits_posted <> 0 OR debits_pending <> 0)`
  },
  {
    id: "credits-are-journal",
    invariant: "What an account was credited is the sum of the transfers to it.",
    violations: `SELECT count(*) FROM account a
      LEFT JOIN (SELECT credit_account AS id, sum(amount) AS amount FROM transfer GROUP BY 1) t USING (id)
      WHERE a.kind <> 'system' AND a.credits_posted <> coalesce(t.amount, 0)`
  },
  {
    id: "debits-are-journal",
    invariant: "What an account was debited is the sum of the transfers from it and the settlements it paid.",
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
    invariant: "What an account has set aside is the sum of its open holds.",
    violations: `WITH held AS (
        SELECT plan_account AS id, sum(plan_tokens) AS amount FROM inference_hold GROUP BY 1
        UNION ALL SELECT payg_account, sum(payg_pico) FROM inference_hold GROUP BY 1)
      SELECT count(*) FROM account a
      LEFT JOIN (SELECT id, sum(amount) AS amount FROM held GROUP BY 1) h USING (id)
      WHERE a.kind <> 'system' AND a.debits_pending <> coalesce(h.amount, 0)`
  },
  {
    id: "plans-are-grants",
    invariant: "What a plan was credited is the sum of its grants.",
    violations: `SELECT count(*) FROM account a
      LEFT JOIN (SELECT credit_account AS id, sum(amount) AS amount FROM transfer WHERE code = 'mint_grant' GROUP BY 1) t
        USING (id)
      WHERE a.kind = 'plan' AND a.credits_posted <> coalesce(t.amount, 0)`
  },
  {
    id: "transfers-fit",
    invariant: "A transfer moves one unit between the outside and an account of the kind that its code is about.",
    violations: `SELECT count(*) FROM transfer t
      LEFT JOIN account d ON d.id = t.debit_account LEFT JOIN account c ON c.id = t.credit_account
      WHERE (d.unit = t.unit AND c.unit = t.unit AND (d.kind = 'system') <> (c.kind = 'system')
        AND CASE t.code
          WHEN 'payg_credit' THEN d.id = '00000000-0000-0000-0000-000000000004' AND c.kind = 'payg'
          WHEN 'mint_grant' THEN d.id = '00000000-0000-0000-0000-000000000003' AND c.kind = 'plan'
          ELSE t.unit = 'usd_micro' END) IS NOT TRUE`
  },
  {
    id: "credits-are-logged",
    invariant: "Every credit by an operator stands in the audit log, with its amount.",
    violations: `SELECT count(*) FROM transfer t WHERE t.code = 'payg_credit' AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.action = 'payg.credit' AND l.subject = t.credit_account::text
        AND l.detail ->> 'operation_id' = t.ref AND (l.detail ->> 'usd_micro')::numeric * 1000000 = t.amount)`
  },
  {
    id: "units-are-conserved",
    invariant: "In every unit: what came in from outside is what accounts have left and what was used.",
    violations: `WITH outside AS (SELECT id FROM account WHERE kind = 'system'),
      flow AS (
        SELECT unit, amount FROM transfer WHERE debit_account IN (SELECT id FROM outside)
        UNION ALL SELECT unit, -amount FROM transfer WHERE credit_account IN (SELECT id FROM outside)
        UNION ALL SELECT unit, -(credits_posted - debits_posted) FROM account WHERE kind <> 'system'
        UNION ALL SELECT 'token', -sum(plan_tokens) FROM settlement
        UNION ALL SELECT 'usd_pico', -sum(payg_pico) FROM settlement)
      SELECT count(*) FROM (SELECT unit FROM flow GROUP BY unit HAVING sum(amount) <> 0) AS unbalanced`
  },
  {
    id: "settlements-add-up",
    invariant: "Plan value, pay-as-you-go and write-off of a settlement are its cost.",
    violations: "SELECT count(*) FROM settlement WHERE plan_value_pico + payg_pico + writeoff_pico <> cost_pico"
  },
  {
    id: "cost-is-price",
    invariant: "The cost of a settlement is its tokens at the price it names, which is one of its model's.",
    violations: `SELECT count(*) FROM settlement s LEFT JOIN price p ON p.id = s.price_id AND p.model_id = s.model_id
      WHERE s.cost_pico IS DISTINCT FROM s.charged_input * p.input + s.charged_cache_write * p.cache_write
        + s.charged_cache_read * p.cache_read + s.charged_output * p.output`
  },
  {
    id: "failed-is-free",
    invariant: "A failed request costs nothing and uses no plan.",
    violations: "SELECT count(*) FROM settlement WHERE ending = 'failed' AND (cost_pico <> 0 OR plan_tokens <> 0)"
  },
  {
    id: "charged-was-consumed",
    invariant: "Nobody is charged for more tokens than the supplier is known to have used.",
    violations: `SELECT count(*) FROM settlement WHERE charged_input > consumed_input
      OR charged_cache_write > consumed_cache_write OR charged_cache_read > consumed_cache_read
      OR charged_output > consumed_output`
  },
  {
    id: "payers-are-owners",
    invariant: "A settlement is paid from the plan of its user for its model and from the balance of its user.",
    violations: `SELECT count(*) FROM settlement s
      LEFT JOIN account plan ON plan.id = s.plan_account AND plan.kind = 'plan'
        AND plan.user_id = s.user_id AND plan.model_id = s.model_id
      LEFT JOIN account payg ON payg.id = s.payg_account AND payg.kind = 'payg' AND payg.user_id = s.user_id
      LEFT JOIN api_key k ON k.id = s.api_key_id AND k.user_id = s.user_id
      WHERE k.id IS NULL OR (s.plan_account IS NOT NULL AND plan.id IS NULL) OR (s.plan_account IS NULL AND s.plan_tokens <> 0)
        OR (s.payg_account IS NOT NULL AND payg.id IS NULL) OR (s.payg_account IS NULL AND s.payg_pico <> 0)`
  },
  {
    id: "holders-are-owners",
    invariant: "A hold is on the plan of its user for its model and on the balance of its user.",
    violations: `SELECT count(*) FROM inference_hold h
      LEFT JOIN account plan ON plan.id = h.plan_account AND plan.kind = 'plan'
        AND plan.user_id = h.user_id AND plan.model_id = h.model_id
      LEFT JOIN account payg ON payg.id = h.payg_account AND payg.kind = 'payg' AND payg.user_id = h.user_id
      WHERE (h.plan_account IS NOT NULL AND plan.id IS NULL) OR (h.plan_account IS NULL AND h.plan_tokens <> 0)
        OR (h.payg_account IS NOT NULL AND payg.id IS NULL) OR (h.payg_account IS NULL AND h.payg_pico <> 0)`
  },
  {
    id: "held-or-settled",
    invariant: "No request is both held and settled.",
    violations: "SELECT count(*) FROM inference_hold JOIN settlement USING (request_id)"
  },
  {
    id: "no-forgotten-holds",
    invariant: "No hold belongs to a node that has been silent for more than ten minutes.",
    violations: `SELECT count(*) FROM inference_hold h LEFT JOIN gateway_node n ON n.id = h.node_id
      WHERE h.held_at < clock_timestamp() - interval '10 minutes'
        AND coalesce(least(n.beat_at, n.left_at), '-infinity') < clock_timestamp() - interval '10 minutes'`
  },
  {
    id: "models-have-prices",
    invariant: "The price of a model is one of its own.",
    violations: `SELECT count(*) FROM model m LEFT JOIN price p ON p.id = m.price_id AND p.model_id = m.id
      WHERE p.id IS NULL`
  }
]
