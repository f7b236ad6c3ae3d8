with "given_0" as materialized (select "r"."customer_id" as "customer_id", "r"."name" as "name"
  from json_to_recordset($1::json) as "r"("customer_id" int4, "name" text)), "prior_0" as materialized (select p.*
  from tenant."customer" p
  join "given_0" on "p"."customer_id" = "given_0"."customer_id" for update of p), "written_0" as (insert into tenant."customer" as t("customer_id", "name")
  select "customer_id", "name"
  from "given_0"
  where (select count(*)
  from "prior_0") >= 0
  on conflict ("customer_id") do update set "name" = "excluded"."name"
  returning coalesce(t.*) as row, t.xmax <> 0 as updated), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $2::int4, case when "written_0".updated then 'update' else 'insert' end, 'customer', json_build_object('customer_id', ("written_0".row)."customer_id"), row_to_json((case when "written_0".updated then "prior_0".* end)), row_to_json(("written_0".row))
  from "written_0"
  left join "prior_0" on "prior_0"."customer_id" = ("written_0".row)."customer_id"
  where case when "written_0".updated then (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'update') or (select set_config('rowpost.roleid', $3::int4::text, true)) is null) else (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null) end)
  select '[' || coalesce(string_agg(w.j, ','), '') || ']'
  from (select '{"customer_id":' || '"' || coalesce(("written_0".row)."customer_id", null::int4)::text || '"' || ',"name":' || to_json(("written_0".row)."name")::text || '}' as j
  from "written_0"
  left join "prior_0" on "prior_0"."customer_id" = ("written_0".row)."customer_id") w;
