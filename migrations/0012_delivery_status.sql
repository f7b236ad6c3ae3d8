-- Everybody an email is for, as written: also those who get none. Null: those in `recipients`.
alter table rowpost.delivery add column intended text[];
alter table rowpost.delivery_start add column intended text[];

-- For lists and counts of what did not arrive. Few events are of these kinds.
create index email_event_trouble on rowpost.email_event (tenantid, deliveryid)
  where event in ('bounce', 'dropped', 'spamreport');

-- As before, with two more columns.
create or replace view rowpost.email_delivery as
  select d.tenantid, d.deliveryid, d.eventid, d.ruleid, d.email_type, d.operation, d.target, d.key, d.delivery, d.state,
    case
      when d.tracked or (select a.attempt from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime) is null then d.attempts
      else 1
    end as attempts,
    case
      when d.tracked or d.recipients is not null then d.recipients
      else (select s.recipients from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as recipients,
    case
      when d.tracked or d.subject is not null then d.subject
      else (select s.subject from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as subject,
    case
      when d.tracked or d.provider_message_id is not null then d.provider_message_id
      else (select a.provider_message_id from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
    end as provider_message_id,
    d.error_code, d.error, d.createtime, d.next_attempt,
    case
      when d.tracked or d.sent_time is not null then d.sent_time
      else (select a.finished from rowpost.email_attempt a where a.attempt = 1
        and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime)
    end as sent_time,
    case
      when d.tracked or (select s.deliveryid from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime) is null then d.starts
      else 1
    end as starts,
    case
      when d.tracked then d.due
      else (select s.leased_until from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as due,
    -- The last thing known. Carriers report in any order, and of several recipients the worst counts.
    case d.state
      when 'pending' then 'scheduled'
      when 'retrying' then 'scheduled'
      when 'paused' then 'held_back'
      when 'skipped' then 'held_back'
      when 'sending' then 'sending'
      when 'failed' then 'failed'
      else coalesce((
        select case
            when bool_or(e.event = 'spamreport') then 'complained'
            when bool_or(e.event in ('unsubscribe', 'group_unsubscribe')) then 'unsubscribed'
            when bool_or(e.event in ('bounce', 'dropped')) then 'bounced'
            when bool_or(e.event = 'click') then 'clicked'
            when bool_or(e.event = 'open') then 'opened'
            when bool_or(e.event = 'delivered') then 'delivered'
          end
        from rowpost.email_event e
        where e.tenantid = d.tenantid and e.deliveryid = d.deliveryid and e.createtime = d.createtime
          -- A text that is no address, beside others that are: nothing was sent to it.
          and not (e.event = 'dropped' and starts_with(e.provider_event_id, 'invalid.'))
          -- What was reported before it was sent again says nothing about the new email. Carriers' times are whole seconds.
          and (not d.tracked or e.time >= coalesce((select date_trunc('second', max(a.finished)) from rowpost.email_attempt a
            where a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime
              and a.outcome = 'redriven'), '-infinity'))
      ), d.state)
    end as status,
    case
      when d.tracked or d.intended is not null or d.recipients is not null then coalesce(d.intended, d.recipients)
      else (select coalesce(s.intended, s.recipients) from rowpost.delivery_start s
        where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime)
    end as intended_recipients
  from (
    select d.tenantid, d.deliveryid, d.eventid, d.ruleid, d.email_type, d.operation, d.target, d.key, d.delivery, d.tracked,
      d.attempts, d.recipients, d.intended, d.subject, d.provider_message_id, d.error_code, d.error, d.createtime,
      d.next_attempt, d.sent_time, d.starts, d.due,
      case
        when d.tracked then d.state
        when (select a.attempt from rowpost.email_attempt a where a.attempt = 1
          and a.tenantid = d.tenantid and a.deliveryid = d.deliveryid and a.createtime = d.createtime) is not null then 'sent'
        when (select s.deliveryid from rowpost.delivery_start s
          where s.tenantid = d.tenantid and s.deliveryid = d.deliveryid and s.createtime = d.createtime) is not null then 'sending'
        else d.state
      end as state
    from rowpost.delivery d
  ) d;
