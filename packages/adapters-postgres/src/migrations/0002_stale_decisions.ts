/**
 * Creates the SQL function that aborts a transaction when its decision was based on rows that have changed since.
 */
export const staleDecisions = /* sql */ `
CREATE FUNCTION refuse_stale(as_decided boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF as_decided IS NOT TRUE THEN
    RAISE EXCEPTION 'the rows are not what was decided over' USING ERRCODE = 'TG001';
  END IF;
  RETURN true;
END $$;
`
