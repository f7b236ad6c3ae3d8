with "written" as (insert into tenant."orders" as t("customer_id")
  select $1::int4 as "customer_id"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $2::int4, 'insert', 'orders', json_build_object('order_id', "written"."order_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."orders"'::regclass, 'insert') or (select set_config('rowpost.roleid', $3::int4::text, true)) is null))
  select case when "written"."customer_id" is null or exists (select
  from tenant."customer" "parent"
  where "parent"."customer_id" = "written"."customer_id" and (((("parent"."country" = $4::text))))) then '{"order_id":' || '"' || coalesce("written"."order_id", null::int4)::text || '"' || '}' else rowpost_tenant.refuse('noReference', 'customer_id') end
  from "written";
