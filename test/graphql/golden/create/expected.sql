with "written" as (insert into tenant."customer" as t("name", "country")
  select $1::text as "name", $2::text as "country"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'customer', json_build_object('customer_id', "written"."customer_id"), null::json, row_to_json("written")
  from "written"
  where (select case when g.tgenabled in ('O', 'A') then set_config('rowpost.roleid', $4::int4::text, true) is null else true end
  from pg_catalog.pg_trigger g
  where g.tgrelid = 'tenant."customer"'::regclass and g.tgname = ('rowpost_capture_' || 'insert')::name) is not false)
  select '{"customer_id":' || '"' || "written"."customer_id"::text || '"' || ',"name":' || to_json("written"."name")::text || '}'
  from "written";
