package main

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

type tileData struct {
	Level  int    `json:"level"`
	Index  int64  `json:"index"`
	Width  int    `json:"width"`
	Hashes []byte `json:"hashes"`
}

// checkTiles reads a record through the tiles, which tlog authenticates against the root.
func checkTiles(r request) error {
	tree := tlog.Tree{N: r.Size, Hash: r.Root}
	reader := tlog.TileHashReader(tree, tileReader(r.Tiles))
	proof, err := tlog.ProveRecord(r.Size, r.Index, reader)
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(proof, r.Size, r.Root, r.Index, r.Leaf); err != nil {
		return err
	}
	if len(proof) != len(r.Proof) {
		return errors.New("the proof from the tiles has another length")
	}
	for i, hash := range proof {
		if hash != r.Proof[i] {
			return errors.New("the proof from the tiles has other hashes")
		}
	}
	return nil
}

type tileReader []tileData

func (t tileReader) Height() int { return tileHeight }

func (t tileReader) SaveTiles([]tlog.Tile, [][]byte) {}

func (t tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	contents := make([][]byte, len(tiles))
	for i, tile := range tiles {
		content, err := t.find(tile)
		if err != nil {
			return nil, err
		}
		contents[i] = content
	}
	return contents, nil
}

func (t tileReader) find(tile tlog.Tile) ([]byte, error) {
	for _, stored := range t {
		if stored.Level == tile.L && stored.Index == tile.N && stored.Width >= tile.W {
			return stored.Hashes[:tile.W*tlog.HashSize], nil
		}
	}
	return nil, fmt.Errorf("tile %s is missing", tile.Path())
}
