"""Small robot descriptions, written for the tests."""

MJCF = """<mujoco model="arm">
  <compiler angle="degree"/>
  <option gravity="0 0 -9.81" timestep="0.001" integrator="RK4"/>
  <default>
    <geom friction="0.6" density="500"/>
    <default class="bar"><geom type="capsule" size="0.02"/></default>
  </default>
  <asset><mesh name="hand" file="hand.stl"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="upper" pos="0 0 1" euler="0 90 0">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-90 90" damping="0.1" frictionloss="0.02"/>
      <geom class="bar" fromto="0 0 0 0.4 0 0"/>
      <body name="lower" pos="0.4 0 0">
        <joint name="elbow" type="ball"/>
        <geom class="bar" fromto="0 0 0 0.3 0 0"/>
        <geom type="mesh" mesh="hand"/>
        <geom name="knuckle" type="cylinder" size="0.03 0.05" pos="0.3 0 0"/>
      </body>
    </body>
    <body name="ball" pos="1 0 0.5">
      <freejoint/>
      <inertial pos="0 0 0.01" mass="2" diaginertia="0.01 0.02 0.025"/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <contact><exclude body1="upper" body2="ball"/></contact>
  <actuator><motor joint="shoulder"/></actuator>
</mujoco>
"""

URDF = """<?xml version="1.0"?>
<robot name="cart">
  <link name="rail"/>
  <link name="cart">
    <inertial><origin xyz="0 0 0.05"/><mass value="1.5"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.2 0.1 0.1"/></geometry></visual>
    <collision><geometry><box size="0.2 0.1 0.1"/></geometry></collision>
  </link>
  <link name="pole">
    <collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.01" length="0.5"/></geometry></collision>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="rail"/><child link="cart"/>
    <origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <joint name="hinge" type="continuous">
    <parent link="cart"/><child link="pole"/><origin xyz="0 0 0.06"/><axis xyz="0 1 0"/>
    <dynamics damping="0.01" friction="0.002"/>
  </joint>
  <transmission name="drive"/>
</robot>
"""

SDF = """<sdf version="1.6"><world name="w"><gravity>0 0 -3</gravity><model name="arm">
<pose>1 0 0 0 0 1.5707963267948966</pose>
<link name="base"><inertial><mass>0</mass></inertial><collision name="c"><geometry><box><size>1 1 0.2</size></box>
</geometry></collision></link>
<link name="rod"><pose>0 0 1 0 0 0</pose><inertial><pose>0.2 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx>
<iyy>1.5</iyy><izz>2</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>
<collision name="c"><geometry><capsule><radius>0.1</radius><length>0.5</length></capsule></geometry>
<surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision><visual name="v"/></link>
<joint name="hinge" type="revolute"><parent>base</parent><child>rod</child><axis><xyz>0 1 0</xyz><limit>
<lower>-1</lower><upper>1e16</upper></limit>
<dynamics><damping>0.3</damping><friction>0.1</friction></dynamics></axis><sensor name="s"/><physics/></joint>
</model></world></sdf>"""
