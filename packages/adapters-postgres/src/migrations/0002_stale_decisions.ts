/**
 * Creates the SQL function that aborts a transaction when its decision was based on rows that have changed since.
 */
export const staleDecisions = /* sql */ `
CREATE FUNCTION refuse_stale(as_decided boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF as_decided IS NOT TRUE THEN
    RAISE EXCEPTION 'a row that the decision is based on has changed' USING ERRCODE = 'TG001';
  END IF;
  RETURN true;
END $$;
`
