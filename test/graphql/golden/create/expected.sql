with "written" as (insert into tenant."customer" as t("name", "country")
  select $1::text as "name", $2::text as "country"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'customer', json_build_object('customer_id', "written"."customer_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select '{"customer_id":' || '"' || coalesce("written"."customer_id", null::int4)::text || '"' || ',"name":' || to_json("written"."name")::text || '}'
  from "written";
