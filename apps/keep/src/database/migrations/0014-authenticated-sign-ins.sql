-- Sessions and identities carry a MAC too, with the epoch of their account. Their routes need none: the row that a route
-- leads to names everything that the route says.

ALTER TABLE identity ADD COLUMN mac bytea;
ALTER TABLE session ADD COLUMN mac bytea;

-- Everybody signs in again: nothing tells a session that was inserted from one that was started. A sign-in that is under way
-- was sealed without its purpose and its account.
TRUNCATE session, session_route, sign_in_attempt;

-- Keep does not sign identities that it finds; as with tokens, an operator decides that, by `keep authenticate-rows`.
DELETE FROM server_key WHERE purpose = 'integrity';
