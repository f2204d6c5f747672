package store

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"fairlane/service/control"
	"fairlane/subnet/ident"
)

type portChangeRow struct {
	FabricID int64  `gorm:"column:fabric_id;primaryKey;autoIncrement:false"`
	NodeGUID string `gorm:"column:node_guid;primaryKey"`
	PortNum  int    `gorm:"column:port_num;primaryKey;autoIncrement:false"`
	State    string `gorm:"column:state"`
	SinceUS  int64  `gorm:"column:since_us"`
	SeenAtUS int64  `gorm:"column:seen_at_us"`
}

func (portChangeRow) TableName() string { return "port_changes" }

func (r *repos) PutPortChanges(ctx context.Context, fabric string, list []control.PortChange) error {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return err
	}
	rows := each(list, func(c control.PortChange) portChangeRow {
		return portChangeRow{FabricID: f.ID, NodeGUID: c.Port.Node.String(), PortNum: int(c.Port.Port), State: string(c.State), SinceUS: micros(c.Since), SeenAtUS: micros(c.Seen)}
	})
	if err := insertAll(r.in(ctx).Clauses(clause.OnConflict{UpdateAll: true}), rows); err != nil {
		return fmt.Errorf("insert %d changes of ports of %s: %w", len(rows), fabric, err)
	}
	return nil
}

func (r *repos) PortChanges(ctx context.Context, fabric string, ports []ident.PortID) ([]control.PortChange, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	return ofPorts(ports, func(c *control.PortChange) ident.PortID { return c.Port }, func(nodes []string) ([]control.PortChange, error) {
		var rows []portChangeRow
		if err := r.in(ctx).Where("fabric_id = ? AND node_guid IN ?", f.ID, nodes).Order("node_guid, port_num").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("read changes of ports of %s: %w", fabric, err)
		}
		return tryEach(rows, portChangeRow.domain)
	})
}

func (row portChangeRow) domain() (c control.PortChange, err error) {
	c = control.PortChange{State: control.PortState(row.State), Since: fromMicros(row.SinceUS), Seen: fromMicros(row.SeenAtUS)}
	if c.Port, err = portID(row.NodeGUID, row.PortNum); err != nil {
		return c, fmt.Errorf("decode a change of a port: %w", err)
	}
	return c, nil
}
