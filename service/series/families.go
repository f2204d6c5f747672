package series

import (
	"fmt"
	"strings"
)

// Family describes the series of one metric name.
type Family struct {
	Name string
	Kind Kind
	// Labels are the names of the series' labels, without the metric name.
	Labels []string
	// Help is one sentence without its full stop.
	Help string
	// Tenant says that a tenant may read those of the series whose labels fabric and tenant are its own. Families about links, ports
	// and whole fabrics are for callers without a scope.
	Tenant bool
}

// Kind is the type of a metric, as Prometheus names it.
type Kind string

// Kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Labels of the series.
const (
	LabelFabric = "fabric"
	LabelTenant = "tenant"
	LabelState  = "state"  // "contending", or the reason why not: docs/shares.md
	LabelPort   = "port"   // a port: "h4/P1"
	LabelLane   = "lane"   // an SL or a VL
	LabelKind   = "kind"   // of measurements: "shares" or "ports"
	LabelSender = "sender" // of a WRCC NIC port: "tenant/class"
	LabelVF     = "vf"     // index of a virtual function of a NIC port
	LabelLink   = "link"   // a link direction: "sw1/P4 -> h4/P1", the transmitting port first
)

// Names of the families.
const (
	TenantDelivered = "fairlane_tenant_delivered_bits_per_second"
	TenantEntitled  = "fairlane_tenant_entitled_bits_per_second"
	TenantPredicted = "fairlane_tenant_predicted_bits_per_second"
	TenantError     = "fairlane_tenant_share_error_ratio"
	TenantWeight    = "fairlane_tenant_weight"
	TenantContended = "fairlane_tenant_contended_seconds_total"
	TenantBad       = "fairlane_tenant_share_bad_seconds_total"
	TenantObjective = "fairlane_tenant_objective_ratio"
	TenantState     = "fairlane_tenant_state"
	TenantReceived  = "fairlane_tenant_received_ratio"
	LinkTenant      = "fairlane_link_tenant_delivered_bits_per_second"
	LinkDelivered   = "fairlane_link_delivered_bits_per_second"
	LinkCapacity    = "fairlane_link_capacity_bits_per_second"
	LinkUse         = "fairlane_link_use_ratio"
	LinkEntitled    = "fairlane_link_tenant_entitled_bits_per_second"
	Coverage        = "fairlane_measured_ratio"
	PortSent        = "fairlane_port_sent_bits_per_second"
	PortBECN        = "fairlane_port_becn_per_second"
	PortWait        = "fairlane_port_xmit_wait_ticks_per_second"
	PortCongested   = "fairlane_port_congested_ticks_per_second"
	PortMarks       = "fairlane_port_ecn_marks_per_second"
	PortCNPsSent    = "fairlane_port_cnps_sent_per_second"
	PortCNPs        = "fairlane_port_cnps_handled_per_second"
	PortPauses      = "fairlane_port_pauses_received_per_second"
	PortPaused      = "fairlane_port_paused_ratio"
	PortFCNPs       = "fairlane_port_fcnps_sent_per_second"
	PortRewrites    = "fairlane_port_fair_rate_rewrites_per_second"
	PortPausesSent  = "fairlane_port_pauses_sent_per_second"
	FunctionSent    = "fairlane_function_sent_bits_per_second"
	FunctionMarks   = "fairlane_function_ecn_marks_per_second"
	FunctionCNPsOut = "fairlane_function_cnps_sent_per_second"
	FunctionCNPs    = "fairlane_function_cnps_handled_per_second"
	PortSender      = "fairlane_port_sender_sent_bits_per_second"
	CostRequests    = "fairlane_measurement_requests_per_second"
	CostBytes       = "fairlane_measurement_bytes_per_second"
	LinkFairRate    = "fairlane_link_fair_rate_bits_per_second"
	FabricJain      = "fairlane_fabric_jain_index"
	FabricError     = "fairlane_fabric_share_error_max_ratio"
	FabricLoop      = "fairlane_fabric_congestion_control_acting"
	LinkUp          = "fairlane_link_up"
)

// Families lists every family, by name. It is the answer of metadata and the table in docs/telemetry.md.
func Families() []Family {
	return append([]Family{
		{FabricLoop, Gauge, []string{LabelFabric}, "1 if congestion control acted during a measurement, 0 if it did not act although links were full; absent without load", false},
		{FabricJain, Gauge, []string{LabelFabric}, "Jain's index of delivered over entitled, over the measured tenants: 1 when all received the same fraction", false},
		{FabricError, Gauge, []string{LabelFabric}, "largest share error of the measured tenants", false},
		{FunctionCNPs, Gauge, []string{LabelFabric, LabelPort, LabelVF, LabelTenant}, "congestion notifications that slowed senders of a tenant's virtual function down", false},
		{FunctionCNPsOut, Gauge, []string{LabelFabric, LabelPort, LabelVF, LabelTenant}, "congestion notifications that a tenant's virtual function sent", false},
		{FunctionMarks, Gauge, []string{LabelFabric, LabelPort, LabelVF, LabelTenant}, "packets with an ECN mark that a tenant's virtual function received", false},
		{FunctionSent, Gauge, []string{LabelFabric, LabelPort, LabelVF, LabelTenant}, "octets that a tenant's virtual function sent, as a rate on the device's clock", false},
		{LinkCapacity, Gauge, []string{LabelFabric, LabelLink}, "data rate of a contended link direction", false},
		{LinkDelivered, Gauge, []string{LabelFabric, LabelLink}, "octets sent on a contended link direction, as a rate on the device's clock", false},
		{LinkFairRate, Gauge, []string{LabelFabric, LabelLink}, "fair rate that a WRCC switch gives a queue pair of weight 1 on a contended link direction", false},
		{LinkTenant, Gauge, []string{LabelFabric, LabelLink, LabelTenant}, "rate of a tenant on a contended link direction", false},
		{LinkEntitled, Gauge, []string{LabelFabric, LabelLink, LabelTenant}, "entitlement of a tenant on a contended link direction", false},
		{LinkUp, Gauge, []string{LabelFabric, LabelLink}, "1 if both ports of a contended link direction were up at the latest scan, 0 if one was down or the link was gone", false},
		{LinkUse, Gauge, []string{LabelFabric, LabelLink}, "delivered over capacity of a contended link direction, 0 to 1", false},
		{Coverage, Gauge, []string{LabelFabric}, "fraction of the period in which the counters of every measured port were read unambiguously, 0 to 1", false},
		{CostBytes, Gauge, []string{LabelFabric, LabelKind}, "bytes of these requests and their responses: management datagrams, or messages of gRPC without headers", false},
		{CostRequests, Gauge, []string{LabelFabric, LabelKind}, "requests to devices for measurements of `shares` or readings of watched `ports`, averaged over their period", false},
		{PortBECN, Gauge, []string{LabelFabric, LabelPort, LabelLane}, "congestion notifications that an InfiniBand adapter port received, by SL", false},
		{PortCNPs, Gauge, []string{LabelFabric, LabelPort}, "congestion notifications that slowed senders of a NIC port down", false},
		{PortCNPsSent, Gauge, []string{LabelFabric, LabelPort}, "congestion notifications that a NIC port sent", false},
		{PortCongested, Gauge, []string{LabelFabric, LabelPort, LabelLane}, "ticks in which packets waited at a congested InfiniBand switch port, by VL; the device defines a tick", false},
		{PortRewrites, Gauge, []string{LabelFabric, LabelPort}, "packets whose fair rate a port of a WRCC switch lowered", false},
		{PortFCNPs, Gauge, []string{LabelFabric, LabelPort}, "fast congestion notifications that a WRCC switch sent because of a port", false},
		{PortMarks, Gauge, []string{LabelFabric, LabelPort}, "packets with an ECN mark that a NIC port received", false},
		{PortPaused, Gauge, []string{LabelFabric, LabelPort}, "fraction of the time in which pause frames held the priority of RoCE at a NIC port, 0 to 1; with traffic classes, the sum over their priorities", false},
		{PortPauses, Gauge, []string{LabelFabric, LabelPort}, "pause frames that a NIC port received in the priorities of RoCE", false},
		{PortPausesSent, Gauge, []string{LabelFabric, LabelPort}, "pause frames that a port of a WRCC switch sent", false},
		{PortSender, Gauge, []string{LabelFabric, LabelPort, LabelSender}, "octets that a WRCC sender (`tenant/class`) sent from a NIC port, as a rate on the device's clock", false},
		{PortSent, Gauge, []string{LabelFabric, LabelPort}, "octets that a port sent, as a rate on the device's clock", false},
		{PortWait, Gauge, []string{LabelFabric, LabelPort}, "ticks in which an InfiniBand port had data to send and no credit; the device defines a tick", false},
		{TenantContended, Counter, []string{LabelFabric, LabelTenant}, "seconds in which a tenant contended for a link", true},
		{TenantDelivered, Gauge, []string{LabelFabric, LabelTenant}, "rate that a tenant received, summed over the ports it sends from", true},
		{TenantEntitled, Gauge, []string{LabelFabric, LabelTenant}, "entitlement of a tenant by the plan in force", true},
		{TenantObjective, Gauge, []string{LabelFabric, LabelTenant}, "objective of a tenant: the fraction of its contended seconds that must not be bad, 0 to 1", true},
		{TenantPredicted, Gauge, []string{LabelFabric, LabelTenant}, "rate that the plan in force predicts for a tenant", true},
		{TenantBad, Counter, []string{LabelFabric, LabelTenant}, "contended seconds in which a tenant received less of its entitlement than its objective allows", true},
		{TenantReceived, Gauge, []string{LabelFabric, LabelTenant, LabelLink}, "delivered over what a contending tenant may have now, on the link that limits it", false},
		{TenantError, Gauge, []string{LabelFabric, LabelTenant}, "absolute difference between delivered and entitled, over entitled, of a tenant; meaningful only while it contends", true},
		{TenantState, Gauge, []string{LabelFabric, LabelTenant, LabelState}, "1 for the state of a tenant: contending, or the reason why not", true},
		{TenantWeight, Gauge, []string{LabelFabric, LabelTenant}, "weight of a tenant in the plan in force", true},
	}, recordedFamilies()...)
}

// Reference is the table of families in Markdown, as docs/telemetry.md shows it.
func Reference() string {
	var b strings.Builder
	b.WriteString("| metric | labels beside `fabric` | tenant | meaning |\n|---|---|---|---|\n")
	for _, f := range Families() {
		var labels []string
		for _, l := range f.Labels {
			if l != LabelFabric {
				labels = append(labels, "`"+l+"`")
			}
		}
		tenant := ""
		if f.Tenant {
			tenant = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, strings.Join(labels, ", "), tenant, f.Help)
	}
	return b.String()
}
