with "given" as materialized (select $1::int4 as "customer_id", $2::"numeric" as "total"), "written" as (insert into tenant."orders" as t("customer_id", "total")
  select "customer_id", "total"
  from "given"
  returning t.*)
  select coalesce((select case when rowpost_tenant.capture_change($3::int4, 'insert', 'orders', json_build_object('order_id', "written"."order_id"), null, row_to_json("written")) > 0 then set_config('rowpost.written_0', (json_build_array(json_build_array("written"."order_id"::text)))::text, true) end
  from "written"), 'null');

select coalesce((select string_agg('{"order_id":' || '"' || "f0"."order_id"::text || '"' || ',"customer":' || coalesce((select '{"name":' || to_json("f1"."name")::text || '}'
  from tenant."customer" "f1"
  where "f1"."customer_id" = "f0"."customer_id"), 'null') || '}', ','
  order by k.n)
  from json_array_elements(nullif(current_setting('rowpost.written_0', true), '')::json)
  with ordinality k(key, n)
  join tenant."orders" "f0" on "f0"."order_id" = (k.key ->> '0'::int)::int4), 'null');
