with "given" as materialized (select $1::text as "name", $2::text as "email"), "prior" as materialized (select p.*
  from tenant."customer" p
  join "given" on "p"."email" = "given"."email" for update of p), "written" as (insert into tenant."customer" as t("name", "email")
  select "name", "email"
  from "given"
  where (select count(*)
  from "prior") >= 0
  on conflict ("email") do update set "name" = "excluded"."name"
  returning coalesce(t.*) as row, t.xmax <> 0 as updated), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, case when "written".updated then 'update' else 'insert' end, 'customer', json_build_object('customer_id', ("written".row)."customer_id"), row_to_json((case when "written".updated then "prior".* end)), row_to_json(("written".row))
  from "written"
  left join "prior" on "prior"."email" = ("written".row)."email"
  where case when "written".updated then (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'update') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null) else (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'insert') or (select set_config('rowpost.roleid', $5::int4::text, true)) is null) end)
  select '{"customer_id":' || '"' || coalesce(("written".row)."customer_id", null::int4)::text || '"' || ',"name":' || to_json(("written".row)."name")::text || ',"country":' || coalesce(to_json(("written".row)."country")::text, 'null') || '}'
  from "written"
  left join "prior" on "prior"."email" = ("written".row)."email";
