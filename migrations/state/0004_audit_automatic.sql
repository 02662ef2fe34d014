-- What rules and scripts of devices did, so that their share of the audit trail can be kept in bounds.
CREATE INDEX audit_automatic ON audit (number) WHERE origin_kind IN ('rule', 'device');
