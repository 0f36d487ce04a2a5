/** What finds families, codes, sessions and apps that can be forgotten. */
export const forgetting = `
CREATE INDEX families_over ON families (COALESCE(ended_at, expires_at));
CREATE INDEX authorization_codes_family ON authorization_codes (creator_id, family_id) WHERE family_id IS NOT NULL;
CREATE INDEX sessions_signed_in ON sessions (signed_in_at);
CREATE INDEX apps_deleted ON apps (deleted_at) WHERE deleted_at IS NOT NULL;
`;
