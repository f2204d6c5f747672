package gnmidev

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// Tables that the guard of RDMA settings protects.
const (
	wredTable    = "WRED_PROFILE"
	profileTable = "BUFFER_PROFILE"
	poolTable    = "BUFFER_POOL"
	watchdog     = "PFC_WD"
)

// guardedFields returns the fields that the guard allows a patch to replace, in lower case, as ENTRY/FIELD; entry "*"
// matches all. It returns nil for an unguarded table.
func guardedFields(name string) []string {
	switch name {
	case wredTable:
		return []string{"azure_lossless/green_min_threshold", "azure_lossless/green_max_threshold", "azure_lossless/green_drop_probability"}
	case profileTable:
		return []string{"*/dynamic_th", "*/xoff"}
	case poolTable:
		return []string{"ingress_lossless_pool/size", "ingress_lossless_pool/xoff", "egress_lossy_pool/size"}
	case watchdog:
		return []string{"*/action", "*/detection_time", "*/restoration_time", "global/poll_interval"}
	}
	return nil
}

// oldestBuild returns the build date of the first image on which an ASIC's tables may be changed. It returns false for an
// ASIC that the guard does not list.
func oldestBuild(asic string) (int, bool) {
	builds := map[string]int{"spc4": 20221100, "th": 20181100, "th3": 20240500, "th4": 20240500, "th5": 20240500}
	b, ok := builds[asic]
	return b, ok
}

// guard checks whether the guard of RDMA settings allows one operation of a patch.
func (s *Switch) guard(c *change, before database) error {
	if s.o.Unguarded {
		return nil
	}
	if len(c.path) < 2 {
		return s.guardWhole(c, before)
	}
	list := guardedFields(c.path[0])
	if list == nil {
		return nil
	}
	if oldest, ok := oldestBuild(s.o.ASIC); !ok || s.o.Build < oldest {
		return s.refused(c, "the guard does not list the switch's ASIC and image")
	}
	if c.path[0] == watchdog && len(c.path) == 2 {
		return nil // adding or removing a whole entry is allowed
	}
	if len(c.path) == 3 && slices.ContainsFunc(list, func(allowed string) bool {
		entry, field, _ := strings.Cut(allowed, "/")
		return (entry == "*" || strings.EqualFold(entry, c.path[1])) && strings.EqualFold(field, c.path[2])
	}) {
		if c.op == patchReplace || c.path[0] == watchdog {
			return nil
		}
		return s.refused(c, "only replace is allowed for this field")
	}
	return s.refused(c, "allowed fields: "+strings.Join(list, ", "))
}

// guardWhole checks an operation on a whole table or more, change by change.
func (s *Switch) guardWhole(c *change, before database) error {
	after := before.clone()
	if err := after.apply(c); err != nil {
		return err
	}
	for _, e := range difference(before, after) {
		if guardedFields(e[0]) != nil {
			return s.refused(c, "it changes "+e[0]+"|"+e[1])
		}
	}
	return nil
}

// refused returns the updater's error for a rejected change.
func (s *Switch) refused(c *change, why string) error {
	name := ""
	if len(c.path) > 0 {
		name = c.path[0]
	}
	return gnmitree.Errorf(codes.PermissionDenied,
		"%s: modification of %s table is illegal: validating function rdma_config_update_validator returned False: %s", c, name, why)
}
