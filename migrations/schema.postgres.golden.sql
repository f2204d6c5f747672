TABLE accounts
    id bigint NOT NULL IDENTITY
    kind text NOT NULL
    name text COLLATE C NOT NULL
    tenant_id bigint
    display_name text NOT NULL
    password text NOT NULL
    issuer text NOT NULL
    subject text NOT NULL
    disabled integer NOT NULL
    version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    signed_in_at_us bigint
    CHECK (((tenant_id IS NULL) OR (kind = 'service-account'::text)))
    CHECK ((disabled = ANY (ARRAY[0, 1])))
    CHECK ((length(display_name) <= 200))
    CHECK ((length(issuer) <= 1000))
    CHECK ((kind = ANY (ARRAY['user'::text, 'service-account'::text])))
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    CHECK ((length(password) <= 300))
    CHECK ((length(subject) <= 255))
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    CREATE UNIQUE INDEX accounts_by_subject ON public.accounts USING btree (issuer, subject) WHERE (subject <> ''::text)
    CREATE UNIQUE INDEX accounts_of_all ON public.accounts USING btree (kind, name) WHERE (tenant_id IS NULL)
    CREATE UNIQUE INDEX accounts_of_tenant ON public.accounts USING btree (tenant_id, name) WHERE (tenant_id IS NOT NULL)
    CREATE UNIQUE INDEX accounts_pkey ON public.accounts USING btree (id)

TABLE audit
    seq bigint NOT NULL
    at_us bigint NOT NULL
    actor text NOT NULL
    actor_kind text NOT NULL
    addr text NOT NULL
    request_id text NOT NULL
    fabric text NOT NULL
    action text COLLATE C NOT NULL
    object text NOT NULL
    outcome text NOT NULL
    detail text NOT NULL
    before bytea
    after bytea
    prev text NOT NULL
    hash text NOT NULL
    token text NOT NULL DEFAULT ''::text
    said text
    CHECK ((length(hash) = 64))
    CHECK ((length(prev) = 64))
    CHECK ((seq > 0))
    PRIMARY KEY (seq)
    UNIQUE (hash)
    CREATE INDEX audit_by_actor ON public.audit USING btree (actor, seq)
    CREATE INDEX audit_by_fabric ON public.audit USING btree (fabric, seq)
    CREATE UNIQUE INDEX audit_hash_key ON public.audit USING btree (hash)
    CREATE UNIQUE INDEX audit_pkey ON public.audit USING btree (seq)
    CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON public.audit FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit()

TABLE audit_sinks
    name text NOT NULL
    seq bigint NOT NULL
    hash text NOT NULL
    owner text NOT NULL
    until_us bigint NOT NULL
    CHECK ((length(hash) = 64))
    PRIMARY KEY (name)
    CREATE UNIQUE INDEX audit_sinks_pkey ON public.audit_sinks USING btree (name)

TABLE audit_tail
    id integer NOT NULL
    seq bigint NOT NULL
    hash text NOT NULL
    CHECK ((length(hash) = 64))
    CHECK ((id = 1))
    PRIMARY KEY (id)
    CREATE UNIQUE INDEX audit_tail_pkey ON public.audit_tail USING btree (id)

TABLE baselines
    fabric_id bigint NOT NULL
    node_guid text COLLATE C NOT NULL
    port_num bigint NOT NULL
    device bytea NOT NULL
    settings bytea NOT NULL
    origin text NOT NULL
    note text NOT NULL
    held bigint NOT NULL
    rollout_id bigint NOT NULL
    recorded_at_us bigint NOT NULL
    note_said text
    CHECK ((held = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    CHECK ((length(node_guid) = 18))
    CHECK ((origin = ANY (ARRAY['before'::text, 'unknown'::text])))
    CHECK (((port_num >= 0) AND (port_num <= 254)))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, node_guid, port_num)
    CREATE UNIQUE INDEX baselines_pkey ON public.baselines USING btree (fabric_id, node_guid, port_num)

TABLE collectors
    fabric_id bigint NOT NULL
    owner text NOT NULL
    until_us bigint NOT NULL
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id)
    CREATE UNIQUE INDEX collectors_pkey ON public.collectors USING btree (fabric_id)

TABLE devices
    fabric_id bigint NOT NULL
    node_guid text COLLATE C NOT NULL
    port_num bigint NOT NULL
    device bytea NOT NULL
    plan text NOT NULL
    policy text NOT NULL
    reading text NOT NULL
    seen text NOT NULL
    observed bytea
    differences bytea
    error text NOT NULL
    read_by text NOT NULL
    read_at_us bigint
    seen_at_us bigint
    steady_at_us bigint
    quarantined_at_us bigint
    quarantine_reason text NOT NULL
    incidents bytea
    repair bigint NOT NULL
    due_at_us bigint NOT NULL
    version bigint NOT NULL
    error_said text
    quarantine_said text
    CHECK ((policy = ANY (ARRAY[''::text, 'report'::text, 'repair'::text, 'freeze'::text])))
    CHECK (((port_num >= 0) AND (port_num <= 254)))
    CHECK ((reading = ANY (ARRAY['unknown'::text, 'in-sync'::text, 'drifted'::text, 'unreachable'::text, 'unsupported'::text])))
    CHECK ((seen = ANY (ARRAY['unknown'::text, 'in-sync'::text, 'drifted'::text, 'unsupported'::text])))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, node_guid, port_num)
    CREATE INDEX devices_by_due ON public.devices USING btree (fabric_id, due_at_us)
    CREATE UNIQUE INDEX devices_pkey ON public.devices USING btree (fabric_id, node_guid, port_num)

TABLE drift_policies
    fabric_id bigint NOT NULL
    body bytea NOT NULL
    plan text NOT NULL
    version bigint NOT NULL
    updated_at_us bigint
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id)
    CREATE UNIQUE INDEX drift_policies_pkey ON public.drift_policies USING btree (fabric_id)

TABLE events
    id bigint NOT NULL IDENTITY
    at_us bigint NOT NULL
    fabric text NOT NULL
    rollout_id bigint NOT NULL
    actor text NOT NULL
    kind text NOT NULL
    subject text NOT NULL
    message text NOT NULL
    data bytea
    by_tenant bigint NOT NULL DEFAULT 0
    said text
    CHECK ((by_tenant = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    PRIMARY KEY (id)
    CREATE INDEX events_by_fabric ON public.events USING btree (fabric, id)
    CREATE INDEX events_by_rollout ON public.events USING btree (rollout_id, id)
    CREATE INDEX events_by_subject ON public.events USING btree (fabric, subject, id)
    CREATE UNIQUE INDEX events_pkey ON public.events USING btree (id)

TABLE fabrics
    id bigint NOT NULL IDENTITY
    name text COLLATE C NOT NULL
    plane text NOT NULL
    source text NOT NULL
    time_scale double precision NOT NULL
    version bigint NOT NULL
    flows_version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    counters text NOT NULL DEFAULT 'clear'::text
    management text NOT NULL DEFAULT 'managed'::text
    management_at_us bigint
    restored_at_us bigint
    repairs_wait integer NOT NULL DEFAULT 0
    prerequisites text NOT NULL DEFAULT 'report'::text
    CHECK ((counters = ANY (ARRAY['clear'::text, 'keep'::text])))
    CHECK ((management = ANY (ARRAY['managed'::text, 'releasing'::text, 'released'::text])))
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    CHECK ((prerequisites = ANY (ARRAY['report'::text, 'repair'::text])))
    CHECK ((repairs_wait = ANY (ARRAY[0, 1])))
    CHECK ((time_scale > (0)::double precision))
    PRIMARY KEY (id)
    UNIQUE (name)
    CREATE UNIQUE INDEX fabrics_name_key ON public.fabrics USING btree (name)
    CREATE UNIQUE INDEX fabrics_pkey ON public.fabrics USING btree (id)

TABLE flows
    fabric_id bigint NOT NULL
    position integer NOT NULL
    tenant_id bigint NOT NULL
    class text NOT NULL
    src_guid text NOT NULL
    src_port integer NOT NULL
    dst_guid text NOT NULL
    dst_port integer NOT NULL
    qps integer NOT NULL
    demand_bps bigint NOT NULL
    CHECK ((demand_bps >= 0))
    CHECK ((length(dst_guid) = 18))
    CHECK (((dst_port >= 0) AND (dst_port <= 254)))
    CHECK (((qps >= 1) AND (qps <= 65536)))
    CHECK ((length(src_guid) = 18))
    CHECK (((src_port >= 0) AND (src_port <= 254)))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    FOREIGN KEY (tenant_id) REFERENCES tenants(id)
    PRIMARY KEY (fabric_id, "position")
    CREATE INDEX flows_by_tenant ON public.flows USING btree (tenant_id)
    CREATE UNIQUE INDEX flows_pkey ON public.flows USING btree (fabric_id, "position")

TABLE idempotency_keys
    actor text NOT NULL
    word text NOT NULL
    request text NOT NULL
    status integer NOT NULL
    header bytea
    body bytea
    expires_at_us bigint NOT NULL
    CHECK ((length(request) = 64))
    CHECK (((length(word) >= 1) AND (length(word) <= 128)))
    PRIMARY KEY (actor, word)
    CREATE INDEX idempotency_keys_by_expiry ON public.idempotency_keys USING btree (expires_at_us)
    CREATE UNIQUE INDEX idempotency_keys_pkey ON public.idempotency_keys USING btree (actor, word)

TABLE maintenance
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    name text NOT NULL
    starts_at_us bigint NOT NULL
    ends_at_us bigint NOT NULL
    text_en text NOT NULL
    text_zh text NOT NULL
    tenants bytea NOT NULL
    places bytea NOT NULL
    whole bigint NOT NULL
    author text NOT NULL
    version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    canceled_at_us bigint
    CHECK ((length(name) = 14))
    CHECK ((whole = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (name)
    CREATE INDEX maintenance_by_end ON public.maintenance USING btree (fabric_id, ends_at_us)
    CREATE UNIQUE INDEX maintenance_name_key ON public.maintenance USING btree (name)
    CREATE UNIQUE INDEX maintenance_pkey ON public.maintenance USING btree (id)

TABLE maintenance_tenants
    maintenance_id bigint NOT NULL
    tenant_id bigint NOT NULL
    FOREIGN KEY (maintenance_id) REFERENCES maintenance(id) ON DELETE CASCADE
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (maintenance_id, tenant_id)
    CREATE INDEX maintenance_of_tenant ON public.maintenance_tenants USING btree (tenant_id)
    CREATE UNIQUE INDEX maintenance_tenants_pkey ON public.maintenance_tenants USING btree (maintenance_id, tenant_id)

TABLE memberships
    id bigint NOT NULL IDENTITY
    account_id bigint NOT NULL
    tenant_id bigint
    role text NOT NULL
    source text NOT NULL
    created_at_us bigint NOT NULL
    fabric_id bigint
    CHECK ((((tenant_id IS NULL) AND (fabric_id IS NULL) AND (role = ANY (ARRAY['fabric-admin'::text, 'operator'::text, 'auditor'::text, 'feeder'::text]))) OR ((tenant_id IS NULL) AND (fabric_id IS NOT NULL) AND (role = ANY (ARRAY['fabric-admin@fabric'::text, 'operator@fabric'::text, 'auditor@fabric'::text, 'feeder@fabric'::text]))) OR ((tenant_id IS NOT NULL) AND (fabric_id IS NULL) AND (role = ANY (ARRAY['tenant-admin'::text, 'tenant-viewer'::text])))))
    CHECK ((source = ANY (ARRAY['local'::text, 'oidc'::text])))
    FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    CREATE INDEX memberships_by_account ON public.memberships USING btree (account_id)
    CREATE UNIQUE INDEX memberships_of_all ON public.memberships USING btree (account_id, source) WHERE ((tenant_id IS NULL) AND (fabric_id IS NULL))
    CREATE UNIQUE INDEX memberships_of_fabric ON public.memberships USING btree (fabric_id, account_id, source) WHERE (fabric_id IS NOT NULL)
    CREATE UNIQUE INDEX memberships_of_tenant ON public.memberships USING btree (tenant_id, account_id, source) WHERE (tenant_id IS NOT NULL)
    CREATE UNIQUE INDEX memberships_pkey ON public.memberships USING btree (id)

TABLE objectives
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    tenant_id bigint
    bound double precision NOT NULL
    target double precision NOT NULL
    updated_at_us bigint NOT NULL
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    CREATE UNIQUE INDEX objectives_default ON public.objectives USING btree (fabric_id) WHERE (tenant_id IS NULL)
    CREATE UNIQUE INDEX objectives_pkey ON public.objectives USING btree (id)
    CREATE UNIQUE INDEX objectives_tenant ON public.objectives USING btree (tenant_id)

TABLE plans
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    name text COLLATE C NOT NULL
    snapshot_sha256 text NOT NULL
    plan bytea NOT NULL
    input bytea NOT NULL
    tenants integer NOT NULL
    devices integer NOT NULL
    findings integer NOT NULL
    max_predicted_error double precision NOT NULL
    created_at_us bigint NOT NULL
    CHECK ((length(name) = 64))
    CHECK ((length(snapshot_sha256) = 64))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (fabric_id, name)
    CREATE UNIQUE INDEX plans_fabric_id_name_key ON public.plans USING btree (fabric_id, name)
    CREATE UNIQUE INDEX plans_pkey ON public.plans USING btree (id)
    CREATE TRIGGER plans_are_immutable BEFORE UPDATE ON public.plans FOR EACH ROW EXECUTE FUNCTION refuse_change_of_plan()

TABLE policies
    fabric_id bigint NOT NULL
    number bigint NOT NULL
    label text NOT NULL
    message text NOT NULL
    actor text NOT NULL
    restores bigint NOT NULL
    tenants integer NOT NULL
    flows integer NOT NULL
    created_at_us bigint NOT NULL
    said text
    CHECK ((number > 0))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, number)
    CREATE UNIQUE INDEX policies_pkey ON public.policies USING btree (fabric_id, number)

TABLE policy_parts
    fabric_id bigint NOT NULL
    kind text NOT NULL
    name text COLLATE C NOT NULL
    since bigint NOT NULL
    until bigint
    body bytea NOT NULL
    CHECK ((kind = ANY (ARRAY['tenant'::text, 'flows'::text, 'options'::text])))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, kind, name, since)
    CREATE UNIQUE INDEX policy_parts_in_force ON public.policy_parts USING btree (fabric_id, kind, name) WHERE (until IS NULL)
    CREATE UNIQUE INDEX policy_parts_pkey ON public.policy_parts USING btree (fabric_id, kind, name, since)

TABLE port_changes
    fabric_id bigint NOT NULL
    node_guid text NOT NULL
    port_num bigint NOT NULL
    state text NOT NULL
    since_us bigint NOT NULL
    seen_at_us bigint NOT NULL
    CHECK (((port_num >= 0) AND (port_num <= 254)))
    CHECK ((state = ANY (ARRAY['up'::text, 'down'::text, 'unknown'::text])))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, node_guid, port_num)
    CREATE UNIQUE INDEX port_changes_pkey ON public.port_changes USING btree (fabric_id, node_guid, port_num)

TABLE rollout_devices
    rollout_id bigint NOT NULL
    node_guid text COLLATE C NOT NULL
    port_num integer NOT NULL
    device bytea NOT NULL
    state text NOT NULL
    before bytea
    wanted bytea
    observed bytea
    receipt bytea
    error text NOT NULL
    updated_at_us bigint NOT NULL
    wave bigint NOT NULL DEFAULT 0
    shard bigint NOT NULL DEFAULT 0
    touched bigint NOT NULL DEFAULT 0
    note text NOT NULL DEFAULT ''::text
    note_said text
    error_said text
    CHECK ((length(node_guid) = 18))
    CHECK (((port_num >= 0) AND (port_num <= 254)))
    CHECK ((touched = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    FOREIGN KEY (rollout_id) REFERENCES rollouts(id) ON DELETE CASCADE
    PRIMARY KEY (rollout_id, node_guid, port_num)
    CREATE INDEX rollout_devices_by_shard ON public.rollout_devices USING btree (rollout_id, wave, shard)
    CREATE INDEX rollout_devices_dirty ON public.rollout_devices USING btree (node_guid, port_num, rollout_id) WHERE ((touched = 1) AND (state <> ALL (ARRAY['pending'::text, 'in-sync'::text, 'rolled-back'::text])))
    CREATE UNIQUE INDEX rollout_devices_pkey ON public.rollout_devices USING btree (rollout_id, node_guid, port_num)

TABLE rollout_shards
    rollout_id bigint NOT NULL
    undo bigint NOT NULL
    wave bigint NOT NULL
    shard bigint NOT NULL
    state text NOT NULL
    epoch bigint NOT NULL
    beat bigint NOT NULL
    owner text NOT NULL
    CHECK ((shard >= 0))
    CHECK ((state = ANY (ARRAY['ready'::text, 'queued'::text, 'working'::text, 'done'::text])))
    CHECK ((undo = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    CHECK ((wave >= 0))
    FOREIGN KEY (rollout_id) REFERENCES rollouts(id) ON DELETE CASCADE
    PRIMARY KEY (rollout_id, undo, wave, shard)
    CREATE UNIQUE INDEX rollout_shards_pkey ON public.rollout_shards USING btree (rollout_id, undo, wave, shard)

TABLE rollouts
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    plan_id bigint NOT NULL
    stages text NOT NULL
    state text NOT NULL
    result text NOT NULL
    actor text NOT NULL
    version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    finished_at_us bigint
    revision bigint NOT NULL DEFAULT 1
    phase text NOT NULL DEFAULT 'ended'::text
    wish text NOT NULL DEFAULT 'run'::text
    wish_actor text NOT NULL DEFAULT ''::text
    owner text NOT NULL DEFAULT ''::text
    options bytea
    wave bigint NOT NULL DEFAULT '-1'::integer
    waves bigint NOT NULL DEFAULT 0
    prior_plan text NOT NULL DEFAULT ''::text
    placed text NOT NULL DEFAULT 'none'::text
    gated bigint NOT NULL DEFAULT '-1'::integer
    confirmed bigint NOT NULL DEFAULT 0
    confirm_by_us bigint
    reason text NOT NULL DEFAULT ''::text
    refused bigint NOT NULL DEFAULT 0
    result_said text
    reason_said text
    CHECK ((confirmed = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    CHECK ((phase = ANY (ARRAY['placing'::text, 'pushing'::text, 'confirming'::text, 'undoing'::text, 'unplacing'::text, 'ended'::text])))
    CHECK ((placed = ANY (ARRAY['none'::text, 'unverified'::text, 'verified'::text, 'restored'::text])))
    CHECK ((refused = ANY (ARRAY[(0)::bigint, (1)::bigint])))
    CHECK ((state = ANY (ARRAY['running'::text, 'succeeded'::text, 'partial'::text, 'failed'::text, 'rolled-back'::text, 'canceled'::text, 'interrupted'::text])))
    CHECK ((wish = ANY (ARRAY['run'::text, 'pause'::text, 'cancel'::text, 'undo'::text])))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    FOREIGN KEY (plan_id) REFERENCES plans(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    CREATE INDEX rollouts_by_fabric ON public.rollouts USING btree (fabric_id, id)
    CREATE UNIQUE INDEX rollouts_one_running ON public.rollouts USING btree (fabric_id) WHERE (state = 'running'::text)
    CREATE UNIQUE INDEX rollouts_pkey ON public.rollouts USING btree (id)
    CREATE INDEX rollouts_placed ON public.rollouts USING btree (fabric_id, id) WHERE ((state = ANY (ARRAY['succeeded'::text, 'partial'::text])) AND (stages = ANY (ARRAY['placement'::text, 'placement,settings'::text])))

TABLE series_managers
    url text COLLATE C NOT NULL
    name text NOT NULL
    key bytea NOT NULL
    until_us bigint NOT NULL
    PRIMARY KEY (url)
    CREATE UNIQUE INDEX series_managers_pkey ON public.series_managers USING btree (url)

TABLE sessions
    id bigint NOT NULL IDENTITY
    hash text NOT NULL
    account_id bigint NOT NULL
    method text NOT NULL
    created_at_us bigint NOT NULL
    seen_at_us bigint NOT NULL
    expires_at_us bigint NOT NULL
    CHECK ((length(hash) = 64))
    CHECK ((method = ANY (ARRAY['password'::text, 'oidc'::text])))
    FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (hash)
    CREATE INDEX sessions_by_account ON public.sessions USING btree (account_id)
    CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expires_at_us)
    CREATE UNIQUE INDEX sessions_hash_key ON public.sessions USING btree (hash)
    CREATE UNIQUE INDEX sessions_pkey ON public.sessions USING btree (id)

TABLE settings
    id integer NOT NULL
    body bytea NOT NULL
    version bigint NOT NULL
    updated_at_us bigint NOT NULL
    CHECK ((id = 1))
    PRIMARY KEY (id)
    CREATE UNIQUE INDEX settings_pkey ON public.settings USING btree (id)

TABLE share_samples
    fabric_id bigint NOT NULL
    measured_at_us bigint NOT NULL
    body bytea NOT NULL
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id, measured_at_us)
    CREATE UNIQUE INDEX share_samples_pkey ON public.share_samples USING btree (fabric_id, measured_at_us)

TABLE share_turns
    fabric_id bigint NOT NULL
    due_at_us bigint NOT NULL
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (fabric_id)
    CREATE UNIQUE INDEX share_turns_pkey ON public.share_turns USING btree (fabric_id)

TABLE signin_failures
    name_sha256 text NOT NULL
    failures integer NOT NULL
    last_at_us bigint NOT NULL
    locked_until_us bigint NOT NULL
    CHECK ((failures >= 0))
    CHECK ((length(name_sha256) = 64))
    PRIMARY KEY (name_sha256)
    CREATE INDEX signin_failures_by_time ON public.signin_failures USING btree (last_at_us)
    CREATE UNIQUE INDEX signin_failures_pkey ON public.signin_failures USING btree (name_sha256)

TABLE silences
    id bigint NOT NULL IDENTITY
    matchers bytea NOT NULL
    starts_at_us bigint NOT NULL
    ends_at_us bigint NOT NULL
    author text NOT NULL
    comment text NOT NULL
    created_at_us bigint NOT NULL
    PRIMARY KEY (id)
    CREATE INDEX silences_by_end ON public.silences USING btree (ends_at_us)
    CREATE UNIQUE INDEX silences_pkey ON public.silences USING btree (id)

TABLE snapshots
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    sha256 text NOT NULL
    topology bytea NOT NULL
    nodes integer NOT NULL
    switches integer NOT NULL
    hosts integer NOT NULL
    links integer NOT NULL
    wall_us bigint NOT NULL
    mads_sent bigint NOT NULL
    taken_at_us bigint NOT NULL
    seen_at_us bigint NOT NULL
    seen_seq bigint NOT NULL
    CHECK ((length(sha256) = 64))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (fabric_id, sha256)
    CREATE INDEX snapshots_by_sighting ON public.snapshots USING btree (fabric_id, seen_seq) INCLUDE (id, sha256, nodes, switches, hosts, links, wall_us, mads_sent, taken_at_us, seen_at_us)
    CREATE UNIQUE INDEX snapshots_fabric_id_sha256_key ON public.snapshots USING btree (fabric_id, sha256)
    CREATE UNIQUE INDEX snapshots_pkey ON public.snapshots USING btree (id)

TABLE tasks
    id bigint NOT NULL IDENTITY
    kind text NOT NULL
    request bytea NOT NULL
    state text NOT NULL
    progress double precision NOT NULL
    result bytea
    error text NOT NULL
    actor text NOT NULL
    attempt bigint NOT NULL
    cancel integer NOT NULL
    beat_at_us bigint NOT NULL
    created_at_us bigint NOT NULL
    started_at_us bigint
    finished_at_us bigint
    error_said text
    CHECK ((kind = ANY (ARRAY['simulation'::text, 'calibration'::text])))
    CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])))
    PRIMARY KEY (id)
    CREATE INDEX tasks_by_kind ON public.tasks USING btree (kind, id)
    CREATE INDEX tasks_open ON public.tasks USING btree (state, beat_at_us) WHERE (finished_at_us IS NULL)
    CREATE UNIQUE INDEX tasks_pkey ON public.tasks USING btree (id)

TABLE tenant_attachments
    tenant_id bigint NOT NULL
    position integer NOT NULL
    node_guid text COLLATE C NOT NULL
    port_num integer NOT NULL
    sl integer
    feed_only integer NOT NULL DEFAULT 0
    claimed_bps bigint NOT NULL DEFAULT 0
    functions_by_node integer NOT NULL DEFAULT 0
    CHECK ((claimed_bps >= 0))
    CHECK ((feed_only = ANY (ARRAY[0, 1])))
    CHECK ((functions_by_node = ANY (ARRAY[0, 1])))
    CHECK ((length(node_guid) = 18))
    CHECK (((port_num >= 0) AND (port_num <= 254)))
    CHECK (((sl >= 0) AND (sl <= 15)))
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (tenant_id, "position")
    UNIQUE (tenant_id, node_guid, port_num)
    CREATE INDEX tenant_attachments_by_node ON public.tenant_attachments USING btree (node_guid)
    CREATE UNIQUE INDEX tenant_attachments_pkey ON public.tenant_attachments USING btree (tenant_id, "position")
    CREATE UNIQUE INDEX tenant_attachments_tenant_id_node_guid_port_num_key ON public.tenant_attachments USING btree (tenant_id, node_guid, port_num)

TABLE tenant_classes
    tenant_id bigint NOT NULL
    position integer NOT NULL
    name text NOT NULL
    weight_milli bigint NOT NULL
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    CHECK (((weight_milli >= 1) AND (weight_milli <= 1000000000)))
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (tenant_id, "position")
    UNIQUE (tenant_id, name)
    CREATE UNIQUE INDEX tenant_classes_pkey ON public.tenant_classes USING btree (tenant_id, "position")
    CREATE UNIQUE INDEX tenant_classes_tenant_id_name_key ON public.tenant_classes USING btree (tenant_id, name)

TABLE tenant_feeds
    id bigint NOT NULL IDENTITY
    tenant_id bigint NOT NULL
    name text COLLATE C NOT NULL
    ports bytea NOT NULL
    count integer NOT NULL
    actor text NOT NULL
    version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    claimed bytea
    functions_by_node integer NOT NULL DEFAULT 0
    CHECK (((count >= 0) AND (count <= 65536)))
    CHECK ((functions_by_node = ANY (ARRAY[0, 1])))
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (tenant_id, name)
    CREATE UNIQUE INDEX tenant_feeds_pkey ON public.tenant_feeds USING btree (id)
    CREATE UNIQUE INDEX tenant_feeds_tenant_id_name_key ON public.tenant_feeds USING btree (tenant_id, name)

TABLE tenants
    id bigint NOT NULL IDENTITY
    fabric_id bigint NOT NULL
    name text COLLATE C NOT NULL
    weight_milli bigint NOT NULL
    pkey integer NOT NULL
    version bigint NOT NULL
    created_at_us bigint NOT NULL
    updated_at_us bigint NOT NULL
    guarantee_bps bigint NOT NULL DEFAULT 0
    cap_bps bigint NOT NULL DEFAULT 0
    CHECK (((cap_bps >= 0) AND (cap_bps <= '100000000000000'::bigint)))
    CHECK (((guarantee_bps >= 0) AND (guarantee_bps <= '100000000000000'::bigint)))
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    CHECK (((pkey >= 0) AND (pkey <= 65535)))
    CHECK (((weight_milli >= 1) AND (weight_milli <= 1000000000)))
    FOREIGN KEY (fabric_id) REFERENCES fabrics(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (fabric_id, name)
    CREATE INDEX tenants_by_pkey ON public.tenants USING btree (fabric_id, pkey)
    CREATE UNIQUE INDEX tenants_fabric_id_name_key ON public.tenants USING btree (fabric_id, name)
    CREATE UNIQUE INDEX tenants_pkey ON public.tenants USING btree (id)

TABLE tokens
    id bigint NOT NULL IDENTITY
    name text COLLATE C NOT NULL
    hash text NOT NULL
    created_at_us bigint NOT NULL
    account_id bigint
    scopes text NOT NULL
    expires_at_us bigint
    used_at_us bigint
    CHECK ((length(hash) = 64))
    CHECK (((length(name) >= 1) AND (length(name) <= 63)))
    FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE
    PRIMARY KEY (id)
    UNIQUE (hash)
    CREATE UNIQUE INDEX tokens_hash_key ON public.tokens USING btree (hash)
    CREATE UNIQUE INDEX tokens_of_account ON public.tokens USING btree (account_id, name) WHERE (account_id IS NOT NULL)
    CREATE UNIQUE INDEX tokens_of_none ON public.tokens USING btree (name) WHERE (account_id IS NULL)
    CREATE UNIQUE INDEX tokens_pkey ON public.tokens USING btree (id)

