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
    invariant: "Every credit by an operator stands in the audit log, with its amount.",
    violations: `SELECT count(*) FROM transfer t WHERE t.code = 'payg_credit' AND NOT EXISTS (
      SELECT FROM audit_log l WHERE l.action = 'payg.credit' AND l.subject = t.credit_account::text
        AND l.detail ->> 'operation_id' = t.ref AND (l.detail ->> 'usd_micro')::numeric * 1000000 = t.amount)`
  },
  {
    id: "adjustments-are-logged",
    invariant: "Every change of a quota by an operator stands in the audit log, with its reseller and amount.",
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
      "What a quota was credited is its top-ups and adjustments up; what it was debited, its mints and those down.",
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
      "Every credited order has one transfer, of its quota to its reseller, and every such transfer its order.",
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
      "Every mint has its two transfers, its price from its reseller and its tokens to its customer, and they it.",
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
    // How many tokens a tier gives may be changed later; what it costs never.
    invariant: "The price of a mint is that of its tier, which is one of its model.",
    violations: `SELECT count(*) FROM mint m LEFT JOIN tier t ON t.id = m.plan_tier_id AND t.model_id = m.model_id
      WHERE m.price_usd_micro IS DISTINCT FROM t.tier_usd_cents * 10000`
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
    id: "charges-have-sources",
    invariant: "Nobody is charged for tokens that nobody counted.",
    violations: `SELECT count(*) FROM settlement WHERE usage_source = 'none'
      AND charged_input + charged_cache_write + charged_cache_read + charged_output <> 0`
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
    id: "holds-can-be-settled",
    invariant: "A hold names a key of its user and a price of its model.",
    violations: `SELECT count(*) FROM inference_hold h
      LEFT JOIN api_key k ON k.id = h.api_key_id AND k.user_id = h.user_id
      LEFT JOIN price p ON p.id = h.price_id AND p.model_id = h.model_id
      WHERE k.id IS NULL OR p.id IS NULL`
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
