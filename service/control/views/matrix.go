package views

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"fairlane/service/control"
	"fairlane/subnet"
)

// maxSide bounds the rows and the columns of a matrix.
const maxSide = 128

// Matrix tabulates the links between the switches of a tier and those above.
type Matrix struct {
	Fabric, Snapshot      string
	At, MeasuredAt        time.Time
	Series                SeriesState
	Tier                  int
	Grouped               bool // rows and columns are groups of the map
	Rows, Columns         []Side
	MoreRows, MoreColumns int
	Cells                 []Cell
}

// Side is a row or a column.
type Side struct{ ID, Name string }

// Cell is a pair of switches or groups with links.
type Cell struct {
	Row, Column            int
	Links, Contended, Down int
	WorstUse               *float64
}

// MatrixQuery selects a matrix.
type MatrixQuery struct {
	Tier  int    // of the rows; 0 is the lowest tier of switches
	Group string // only switches of this group of the map in rows; "" for all
}

// Matrix returns the links between a tier of switches and those above it.
func (v *Views) Matrix(ctx context.Context, fabric string, q MatrixQuery) (*Matrix, error) {
	o, err := v.overlay(ctx, fabric, false)
	if err != nil {
		return nil, err
	}
	l := v.layoutOf(o.snap, o.topo)
	m := &Matrix{Fabric: fabric, Snapshot: o.snap.SHA256, At: o.r.at.UTC(), MeasuredAt: o.state.at, Tier: q.Tier, Series: o.r.state}
	inGroup := func(n int32) bool { return q.Group == "" || l.assign[n] == q.Group || l.single(n) == q.Group }
	if q.Group != "" {
		least := 0
		for _, s := range o.topo.Switches() {
			if inGroup(s) && (least == 0 || l.tiers[s] < least) {
				least = l.tiers[s]
			}
		}
		if least == 0 {
			return nil, &control.NotFoundError{Kind: "group", Name: control.Clipped(q.Group)}
		}
		m.Tier = max(q.Tier, least)
	}
	m.Tier = max(m.Tier, 1)
	row := func(n int32) (string, string, bool) {
		return l.single(n), o.topo.Nodes[n].Label(), l.tiers[n] == m.Tier && inGroup(n)
	}
	column := func(n int32) (string, string, bool) {
		return l.single(n), o.topo.Nodes[n].Label(), l.tiers[n] > m.Tier
	}
	t := tabulate(o, row, column)
	if q.Group == "" && (len(t.rows) > maxSide || len(t.columns) > maxSide) {
		m.Grouped, m.Tier = true, l.top-1
		t = tabulate(o, l.side(func(n int32) bool { return l.tiers[n] < l.top }), l.side(func(n int32) bool { return l.tiers[n] == l.top }))
	}
	m.Rows, m.MoreRows = sorted(t.rows)
	m.Columns, m.MoreColumns = sorted(t.columns)
	m.Cells = t.listed(m.Rows, m.Columns)
	return m, nil
}

// side names the groups of switches that fit.
func (l *layout) side(fits func(n int32) bool) func(n int32) (string, string, bool) {
	names := map[string]string{} // the first switch of each group, as on the map
	for _, s := range l.fabric.Switches() {
		if id := l.assign[s]; names[id] == "" {
			names[id] = l.fabric.Nodes[s].Label()
		}
	}
	return func(n int32) (string, string, bool) {
		return l.assign[n], names[l.assign[n]], l.fabric.Nodes[n].Kind == subnet.KindSwitch && fits(n)
	}
}

// table is a matrix before its bounds.
type table struct {
	rows, columns map[string]string // names by id
	cells         map[[2]string]*Cell
}

// tabulate gathers the links between nodes that are rows and nodes that are columns. Both functions return id and name.
func tabulate(o *overlay, row, column func(n int32) (string, string, bool)) *table {
	t := &table{rows: map[string]string{}, columns: map[string]string{}, cells: map[[2]string]*Cell{}}
	add := func(x, y int32, s *linkState) {
		r, rowName, ok := row(x)
		c, columnName, ok2 := column(y)
		if !ok || !ok2 {
			return
		}
		t.rows[r], t.columns[c] = rowName, columnName
		cell := t.cells[[2]string{r, c}]
		if cell == nil {
			cell = &Cell{}
			t.cells[[2]string{r, c}] = cell
		}
		cell.Links++
		if s != nil {
			cell.WorstUse = higher(cell.WorstUse, s.use)
			cell.Contended += one(s.contended)
			cell.Down += one(s.down)
		}
	}
	o.eachLink(func(a, b int32, _ int64, s *linkState) {
		if o.topo.Nodes[a].Kind == subnet.KindSwitch && o.topo.Nodes[b].Kind == subnet.KindSwitch {
			add(a, b, s)
			add(b, a, s)
		}
	})
	return t
}

// sorted returns the sides by name, at most maxSide, and how many are left out.
func sorted(names map[string]string) (list []Side, more int) {
	for id, name := range names {
		list = append(list, Side{id, name})
	}
	slices.SortFunc(list, func(a, b Side) int { return cmp.Or(natural(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	more = max(len(list)-maxSide, 0)
	return list[:len(list)-more], more
}

// listed returns the cells of the listed rows and columns, row by row.
func (t *table) listed(rows, columns []Side) (out []Cell) {
	at := func(list []Side) map[string]int {
		m := make(map[string]int, len(list))
		for i := range list {
			m[list[i].ID] = i
		}
		return m
	}
	row, column := at(rows), at(columns)
	for key := range maps.Keys(t.cells) {
		r, ok := row[key[0]]
		c, ok2 := column[key[1]]
		if ok && ok2 {
			x := *t.cells[key]
			x.Row, x.Column = r, c
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b Cell) int { return cmp.Or(a.Row-b.Row, a.Column-b.Column) })
	return out
}
