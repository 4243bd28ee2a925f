/**
 * A function that aborts a transaction whose decision was made over cached rows that differ from the stored rows.
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
