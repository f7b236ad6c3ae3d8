/** The input of `create_role` and `update_role`. */
export interface RoleInput {
  readonly login?: string | null;
  readonly name?: string | null;
  readonly password?: string | null;
  readonly current_password?: string | null;
  readonly tenantid?: number | null;
  readonly parentid?: number | null;
  readonly classes?: readonly (number | null)[] | null;
  readonly capabilities?: readonly (string | null)[] | null;
  readonly deleted?: boolean | null;
  readonly read_replica?: boolean | null;
}
