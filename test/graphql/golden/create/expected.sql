with "written" as (insert into tenant."customer" as t("name", "country")
  select $1::text as "name", $2::text as "country"
  returning t.*)
  select case when rowpost_tenant.capture_change($3::int4, 'insert', 'customer', json_build_object('customer_id', "written"."customer_id"), null, row_to_json("written")) > 0 then '{"customer_id":' || '"' || "written"."customer_id"::text || '"' || ',"name":' || to_json("written"."name")::text || '}' end
  from "written";
