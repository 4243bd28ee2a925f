/**
 * Contains the bytecode of two smart contracts. `TestChain` runs them on a local chain, at the addresses of USDT and
 * USDC.
 *
 * In the first contract, every account can create tokens. Its code was compiled with solc 0.8.30 and
 * `{ evmVersion: "paris", optimizer: { enabled: true, runs: 1 }, metadata: { appendCBOR: false } }` from this source:
 *
 *     contract TestToken {
 *         mapping(address => uint256) public balanceOf;
 *         event Transfer(address indexed from, address indexed to, uint256 value);
 *
 *         function decimals() external pure returns (uint8) {
 *             return 18;
 *         }
 *
 *         function mint(address to, uint256 value) external {
 *             balanceOf[to] += value;
 *             emit Transfer(address(0), to, value);
 *         }
 *
 *         function transfer(address to, uint256 value) external returns (bool) {
 *             balanceOf[msg.sender] -= value;
 *             balanceOf[to] += value;
 *             emit Transfer(msg.sender, to, value);
 *             return true;
 *         }
 *     }
 */
export const TEST_TOKEN_CODE = `0x${[
  "608060405234801561001057600080fd5b506004361061004c5760003560e01c8063313ce5671461005157806340c10f19146100655780",
  "6370a082311461007a578063a9059cbb146100a8575b600080fd5b604051601281526020015b60405180910390f35b6100786100733660",
  "046101d2565b6100cb565b005b61009a6100883660046101fc565b60006020819052908152604090205481565b60405190815260200161",
  "005c565b6100bb6100b63660046101d2565b61012b565b604051901515815260200161005c565b6001600160a01b038216600090815260",
  "208190526040812080548392906100f3908490610234565b90915550506040518181526001600160a01b03831690600090600080516020",
  "61025b8339815191529060200160405180910390a35050565b3360009081526020819052604081208054839190839061014c9084906102",
  "47565b90915550506001600160a01b03831660009081526020819052604081208054849290610179908490610234565b90915550506040",
  "518281526001600160a01b03841690339060008051602061025b8339815191529060200160405180910390a35060015b92915050565b80",
  "356001600160a01b03811681146101cd57600080fd5b919050565b600080604083850312156101e557600080fd5b6101ee836101b6565b",
  "946020939093013593505050565b60006020828403121561020e57600080fd5b610217826101b6565b9392505050565b634e487b7160e0",
  "1b600052601160045260246000fd5b808201808211156101b0576101b061021e565b818103818111156101b0576101b061021e56feddf2",
  "52ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
].join("")}`

/** The code of a contract that returns 6 for every call: PUSH1 6, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN. */
export const SIX_DECIMALS_CODE = "0x600660005260206000f3"

export const mintInput = (to: string, amountRaw: bigint): string => `0x40c10f19${word(to)}${word(amountRaw)}`

export const transferInput = (to: string, amountRaw: bigint): string => `0xa9059cbb${word(to)}${word(amountRaw)}`

const word = (value: string | bigint): string =>
  (typeof value === "bigint" ? value.toString(16) : value.slice(2)).padStart(64, "0")
