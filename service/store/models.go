package store

// The structs below mirror the tables of migrations/, column by column; a test compares them.

type fabricRow struct {
	ID            int64   `gorm:"column:id;primaryKey"`
	Name          string  `gorm:"column:name"`
	Plane         string  `gorm:"column:plane"`
	Source        string  `gorm:"column:source"`
	TimeScale     float64 `gorm:"column:time_scale"`
	Counters      string  `gorm:"column:counters"`
	Prerequisites string  `gorm:"column:prerequisites"`
	Version       int64   `gorm:"column:version"`
	FlowsVersion  int64   `gorm:"column:flows_version"`
	CreatedAtUS   int64   `gorm:"column:created_at_us"`
	UpdatedAtUS   int64   `gorm:"column:updated_at_us"`

	Management     string `gorm:"column:management"`
	ManagementAtUS *int64 `gorm:"column:management_at_us"`
	RestoredAtUS   *int64 `gorm:"column:restored_at_us"`
	RepairsWait    int    `gorm:"column:repairs_wait"`
}

func (fabricRow) TableName() string { return "fabrics" }

type snapshotRow struct {
	ID        int64  `gorm:"column:id;primaryKey"`
	FabricID  int64  `gorm:"column:fabric_id"`
	SHA256    string `gorm:"column:sha256"`
	Topology  []byte `gorm:"column:topology"`
	Nodes     int    `gorm:"column:nodes"`
	Switches  int    `gorm:"column:switches"`
	Hosts     int    `gorm:"column:hosts"`
	Links     int    `gorm:"column:links"`
	WallUS    int64  `gorm:"column:wall_us"`
	MADsSent  int64  `gorm:"column:mads_sent"`
	TakenAtUS int64  `gorm:"column:taken_at_us"`
	SeenAtUS  int64  `gorm:"column:seen_at_us"`
	SeenSeq   int64  `gorm:"column:seen_seq"`
}

func (snapshotRow) TableName() string { return "snapshots" }

type tenantRow struct {
	ID          int64  `gorm:"column:id;primaryKey"`
	FabricID    int64  `gorm:"column:fabric_id"`
	Name        string `gorm:"column:name"`
	WeightMilli int64  `gorm:"column:weight_milli"`
	PKey        int    `gorm:"column:pkey"`
	Guarantee   int64  `gorm:"column:guarantee_bps"`
	Cap         int64  `gorm:"column:cap_bps"`
	Version     int64  `gorm:"column:version"`
	CreatedAtUS int64  `gorm:"column:created_at_us"`
	UpdatedAtUS int64  `gorm:"column:updated_at_us"`
}

func (tenantRow) TableName() string { return "tenants" }

type classRow struct {
	TenantID    int64  `gorm:"column:tenant_id;primaryKey;autoIncrement:false"`
	Position    int    `gorm:"column:position;primaryKey;autoIncrement:false"`
	Name        string `gorm:"column:name"`
	WeightMilli int64  `gorm:"column:weight_milli"`
}

func (classRow) TableName() string { return "tenant_classes" }

type attachmentRow struct {
	TenantID int64  `gorm:"column:tenant_id;primaryKey;autoIncrement:false"`
	Position int    `gorm:"column:position;primaryKey;autoIncrement:false"`
	NodeGUID string `gorm:"column:node_guid"`
	PortNum  int    `gorm:"column:port_num"`
	SL       *int   `gorm:"column:sl"`
	FeedOnly int    `gorm:"column:feed_only"` // 0 or 1
	Claimed  int64  `gorm:"column:claimed_bps"`
	ByNode   int    `gorm:"column:functions_by_node"` // 0 or 1
}

func (attachmentRow) TableName() string { return "tenant_attachments" }

type flowRow struct {
	FabricID  int64  `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	Position  int    `gorm:"column:position;primaryKey;autoIncrement:false"`
	TenantID  int64  `gorm:"column:tenant_id"`
	Class     string `gorm:"column:class"`
	SrcGUID   string `gorm:"column:src_guid"`
	SrcPort   int    `gorm:"column:src_port"`
	DstGUID   string `gorm:"column:dst_guid"`
	DstPort   int    `gorm:"column:dst_port"`
	QPs       int    `gorm:"column:qps"`
	DemandBPS int64  `gorm:"column:demand_bps"`
}

func (flowRow) TableName() string { return "flows" }

type planRow struct {
	ID                int64   `gorm:"column:id;primaryKey"`
	FabricID          int64   `gorm:"column:fabric_id"`
	Name              string  `gorm:"column:name"`
	SnapshotSHA256    string  `gorm:"column:snapshot_sha256"`
	Plan              []byte  `gorm:"column:plan"`
	Input             []byte  `gorm:"column:input"`
	Tenants           int     `gorm:"column:tenants"`
	Devices           int     `gorm:"column:devices"`
	Findings          int     `gorm:"column:findings"`
	MaxPredictedError float64 `gorm:"column:max_predicted_error"`
	CreatedAtUS       int64   `gorm:"column:created_at_us"`
}

func (planRow) TableName() string { return "plans" }

type rolloutRow struct {
	ID           int64   `gorm:"column:id;primaryKey"`
	FabricID     int64   `gorm:"column:fabric_id"`
	PlanID       int64   `gorm:"column:plan_id"`
	Stages       string  `gorm:"column:stages"`
	State        string  `gorm:"column:state"`
	Result       string  `gorm:"column:result"`
	ResultSaid   *string `gorm:"column:result_said"`
	Actor        string  `gorm:"column:actor"`
	Version      int64   `gorm:"column:version"`
	CreatedAtUS  int64   `gorm:"column:created_at_us"`
	UpdatedAtUS  int64   `gorm:"column:updated_at_us"`
	FinishedAtUS *int64  `gorm:"column:finished_at_us"`
	Revision     int64   `gorm:"column:revision"`
	Phase        string  `gorm:"column:phase"`
	Request      string  `gorm:"column:wish"`
	RequestedBy  string  `gorm:"column:wish_actor"`
	Owner        string  `gorm:"column:owner"`
	Options      []byte  `gorm:"column:options"`
	Wave         int     `gorm:"column:wave"`
	Waves        int     `gorm:"column:waves"`
	PriorPlan    string  `gorm:"column:prior_plan"`
	Placed       string  `gorm:"column:placed"`
	Gated        int     `gorm:"column:gated"`
	Confirmed    int     `gorm:"column:confirmed"`
	ConfirmByUS  *int64  `gorm:"column:confirm_by_us"`
	Reason       string  `gorm:"column:reason"`
	ReasonSaid   *string `gorm:"column:reason_said"`
	Refused      int     `gorm:"column:refused"`
}

func (rolloutRow) TableName() string { return "rollouts" }

type rolloutDeviceRow struct {
	RolloutID   int64   `gorm:"column:rollout_id;primaryKey;autoIncrement:false"`
	NodeGUID    string  `gorm:"column:node_guid;primaryKey"`
	PortNum     int     `gorm:"column:port_num;primaryKey;autoIncrement:false"`
	Device      []byte  `gorm:"column:device"`
	State       string  `gorm:"column:state"`
	Before      []byte  `gorm:"column:before"`
	Wanted      []byte  `gorm:"column:wanted"`
	Observed    []byte  `gorm:"column:observed"`
	Receipt     []byte  `gorm:"column:receipt"`
	Error       string  `gorm:"column:error"`
	ErrorSaid   *string `gorm:"column:error_said"`
	UpdatedAtUS int64   `gorm:"column:updated_at_us"`
	Wave        int     `gorm:"column:wave"`
	Shard       int     `gorm:"column:shard"`
	Touched     int     `gorm:"column:touched"`
	Note        string  `gorm:"column:note"`
	NoteSaid    *string `gorm:"column:note_said"`
}

func (rolloutDeviceRow) TableName() string { return "rollout_devices" }

type rolloutShardRow struct {
	RolloutID int64  `gorm:"column:rollout_id;primaryKey;autoIncrement:false"`
	Undo      int    `gorm:"column:undo;primaryKey;autoIncrement:false"`
	Wave      int    `gorm:"column:wave;primaryKey;autoIncrement:false"`
	Shard     int    `gorm:"column:shard;primaryKey;autoIncrement:false"`
	State     string `gorm:"column:state"`
	Epoch     int64  `gorm:"column:epoch"`
	Beat      int64  `gorm:"column:beat"`
	Owner     string `gorm:"column:owner"`
}

func (rolloutShardRow) TableName() string { return "rollout_shards" }

type eventRow struct {
	ID        int64   `gorm:"column:id;primaryKey"`
	AtUS      int64   `gorm:"column:at_us"`
	Fabric    string  `gorm:"column:fabric"`
	RolloutID int64   `gorm:"column:rollout_id"`
	Actor     string  `gorm:"column:actor"`
	Kind      string  `gorm:"column:kind"`
	Subject   string  `gorm:"column:subject"`
	Message   string  `gorm:"column:message"`
	Said      *string `gorm:"column:said"`
	Data      []byte  `gorm:"column:data"`
	ByTenant  int     `gorm:"column:by_tenant"`
}

func (eventRow) TableName() string { return "events" }
