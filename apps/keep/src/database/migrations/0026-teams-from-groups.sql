-- Teams that groups of the general-purpose provider fill at sign-ins.

-- The group decides who joins the team, so it carries a MAC with the epoch of the organisation. Null fills nothing.
ALTER TABLE team
  ADD COLUMN external_group text CHECK (length(external_group) BETWEEN 1 AND 255),
  ADD COLUMN mac bytea;

-- Those of a member's teams that a group put them in. Under the MAC of the member's row, as all teams are.
ALTER TABLE member
  ADD COLUMN group_team_ids uuid[] NOT NULL DEFAULT '{}' CHECK (group_team_ids <@ team_ids);
